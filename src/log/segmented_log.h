// PartitionLog as it is: segments, in order of their offsets, the last of them active.
//
// Fibers meet here only where a call parks, and every method looks again at what it relies on after each
// park. Shared pointers keep a segment alive that retention has taken meanwhile. `bytes` and `end` of
// segments in segments_ and end_offset_ change together, between two parks, so a reader never sees half a
// group.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "log/partition_log.h"
#include "log/recent_groups.h"
#include "log/recovery.h"
#include "log/segment.h"

namespace booblik::log {

class SegmentedLog final : public PartitionLog {
 public:
  SegmentedLog(Context context, TopicPartition id, std::string directory, LogOptions options,
               RecoveredLog recovered);
  ~SegmentedLog() override;

  [[nodiscard]] const TopicPartition& id() const override { return id_; }
  [[nodiscard]] Offset start_offset() const override { return segments_.front()->first; }
  [[nodiscard]] Offset end_offset() const override { return end_offset_; }
  [[nodiscard]] Offset durable_offset() const override { return vouched_.offset; }
  [[nodiscard]] std::int64_t size_bytes() const override { return size_bytes_; }
  [[nodiscard]] std::int64_t unsynced_bytes() const override { return unsynced_bytes_; }
  [[nodiscard]] std::size_t segment_count() const override { return segments_.size(); }
  [[nodiscard]] const RecoveryReport& recovery() const override { return report_; }
  [[nodiscard]] const std::optional<Error>& failure() const override { return failure_; }
  [[nodiscard]] Position active_position() const override { return Position(active().bytes); }
  [[nodiscard]] std::int64_t segment_capacity_bytes() const override {
    return options_.segment_capacity_bytes;
  }
  [[nodiscard]] PartitionCheckpoint checkpoint() const override { return vouched_; }

  Result<void> append(std::span<const RecordRun> runs) override;                 // append.cc
  Result<void> roll_if_older(Duration age) override;                             // append.cc
  Result<Offset> sync() override;                                                // sync.cc
  void persist_index() override;                                                 // sync.cc
  Result<Slice> read(Offset from, std::int64_t max_bytes) override;              // read.cc
  Result<Available> available(Offset from) override;                             // read.cc
  Result<std::int64_t> apply_retention(const RetentionLimits& limits) override;  // retention.cc

 private:
  // A group that is being written. Nobody sees its new segments; what it adds to the active one is kept apart
  // until it is published.
  struct Group {
    Offset active_end;
    std::int64_t active_bytes = 0;
    std::vector<std::shared_ptr<Segment>> new_segments;
    std::int64_t records = 0;
    std::int64_t bytes = 0;
  };

  // A record's place, and the handle that pins it.
  struct Place {
    std::shared_ptr<env::File> file;
    Position position;
  };

  [[nodiscard]] Segment& active() const { return *segments_.back(); }
  [[nodiscard]] std::string index_path(const Segment& segment) const;
  std::unexpected<Error> fail_log(Error error);

  // append.cc
  [[nodiscard]] Group begin_group() const;
  Result<void> write_group(Group& group, std::span<const RecordRun> runs);
  Result<void> write_runs(Group& group, std::span<const RecordRun> runs);
  Result<void> begin_segment(Group& group);
  Result<void> sync_to_free_descriptors(const Group& group);
  void publish(Group& group);
  std::unexpected<Error> roll_back(Group& group, Error error);
  void seal(const std::shared_ptr<Segment>& segment);

  // sync.cc
  [[nodiscard]] PartitionCheckpoint written_so_far() const;
  Result<void> sync_segment(Segment& segment);
  Result<void> barrier(Segment& segment);
  void let_go_of_handle(Segment& segment);
  Result<void> sync_names(std::int64_t generation);
  void finish_index_files();
  void finish_index_file(Segment& segment);

  // read.cc
  [[nodiscard]] std::unexpected<Error> out_of_range(Offset offset) const;
  [[nodiscard]] std::unexpected<Error> damaged(const Segment& segment, Offset offset) const;
  [[nodiscard]] const std::shared_ptr<Segment>& segment_of(Offset offset) const;
  Result<Place> locate(Segment& segment, Offset offset);
  Result<std::shared_ptr<const SegmentIndex>> index_of(Segment& segment, env::File& file);
  // `known`: the index that led to other bytes than it should; its entries may still help to step over
  // damage.
  Result<std::shared_ptr<const SegmentIndex>> rebuild_index(Segment& segment, env::File& file,
                                                            const SegmentIndex* known);
  static std::shared_ptr<const SegmentIndex> replace_live_index(Segment& segment,
                                                                std::shared_ptr<SegmentIndex> index,
                                                                Position scanned);
  void take_damage(Segment& segment, std::vector<DamagedRange> damage);

  Context context_;
  const TopicPartition id_;
  const std::string directory_;
  const LogOptions options_;

  std::vector<std::shared_ptr<Segment>> segments_;   // at least the active one
  std::deque<std::shared_ptr<Segment>> unfinished_;  // sealed, without a summary on disk yet
  RecentGroups recent_;
  Offset end_offset_;
  std::int64_t size_bytes_ = 0;
  std::int64_t unsynced_bytes_ = 0;
  PartitionCheckpoint vouched_;
  std::int64_t names_changed_ = 0;  // how often a name in the directory has been made or removed
  std::int64_t names_synced_ = 0;   // how many of those changes are durable
  std::optional<Error> failure_;
  RecoveryReport report_;
};

}  // namespace booblik::log
