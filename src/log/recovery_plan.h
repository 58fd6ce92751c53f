// What recovery knows before it reads a record: the files, the summaries, and from where on nothing was
// vouched for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/disk.h"
#include "log/checkpoint.h"
#include "log/index_file.h"

namespace booblik::log {

struct SegmentFound {
  Offset base;
  std::int64_t file_bytes = 0;
  bool has_index_file = false;
  std::optional<FoundSummary> summary;

  // The summary speaks of a file of this size: there is no need to scan it unless it is found to lie.
  [[nodiscard]] bool summary_fits() const { return summary && summary->summary.file_bytes == file_bytes; }
};

// Everything below was durable.
struct RecoveryPoint {
  Offset offset;
  Offset segment_base;
  Position position;  // of `offset` in that segment
};

struct RecoveryPlan {
  std::vector<SegmentFound> segments;       // ascending by base
  std::vector<std::string> orphan_indexes;  // names of index files without a segment, of no use any more
  std::vector<std::string> foreign;         // names that are not ours

  std::optional<RecoveryPoint> point;  // nullopt: nothing is vouched for
  // Below the line a bad record is damage, from it on it is the end of the log (recovery_table.h). The log
  // ends in its newest segment, so the line is the recovery point or the base of the newest segment that
  // holds a record, whichever is later. Without a checkpoint nobody can tell what names behind that mean, so
  // then it is the newest segment of all, and no segment is ever removed.
  Offset line;
  Offset newest_with_records;  // its base; what lies behind it may be removed
  bool has_checkpoint = false;

  // The part of a segment that has to be rewritten begins here; nullopt if there is none.
  [[nodiscard]] std::optional<Position> not_durable_from(const SegmentFound& segment, Offset end) const;
  // The recovery point lies in this segment's file.
  [[nodiscard]] bool point_is_in(const SegmentFound& segment) const;
  // The bytes that will have to be read.
  [[nodiscard]] std::int64_t bytes_to_scan() const;
};

// Lists the directory and reads the summaries. May park.
Result<RecoveryPlan> plan_recovery(env::Disk& disk, const std::string& directory,
                                   const std::optional<PartitionCheckpoint>& checkpoint);

}  // namespace booblik::log
