// A PartitionLog in memory whose barriers and failures a test controls, to watch what the writer asks of a
// log.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/check.h"
#include "env/sync.h"
#include "log/partition_log.h"
#include "log/recovery_report.h"

namespace booblik::log {

class ScriptedLog final : public PartitionLog {
 public:
  ScriptedLog(env::Scheduler& scheduler, std::int64_t capacity) : capacity_(capacity), released_(scheduler) {}

  // What append has been given: payload bytes of each record, in order.
  std::vector<std::vector<std::byte>> records;
  std::vector<std::int64_t> group_sizes;           // records of each append that succeeded
  std::deque<std::optional<Error>> append_errors;  // of the next appends, in order; none left: success
  std::int64_t barriers_started = 0;
  std::optional<Error> barrier_error;
  std::optional<Duration> rolled;

  // Barriers wait until so many are allowed to finish.
  void hold_barriers() { barriers_allowed_ = barriers_started; }
  void release_barriers() {
    barriers_allowed_ = std::numeric_limits<std::int64_t>::max();
    released_.notify_all();
  }

  [[nodiscard]] const TopicPartition& id() const override { return id_; }
  [[nodiscard]] Offset start_offset() const override { return Offset(0); }
  [[nodiscard]] Offset end_offset() const override { return end_; }
  [[nodiscard]] Offset durable_offset() const override { return durable_; }
  [[nodiscard]] std::int64_t size_bytes() const override { return 0; }
  [[nodiscard]] std::int64_t unsynced_bytes() const override { return unsynced_; }
  [[nodiscard]] std::size_t segment_count() const override { return 1; }
  [[nodiscard]] const RecoveryReport& recovery() const override { return report_; }
  [[nodiscard]] const std::optional<Error>& failure() const override { return failure_; }
  [[nodiscard]] Position active_position() const override { return position_; }
  [[nodiscard]] std::int64_t segment_capacity_bytes() const override { return capacity_; }

  Result<void> append(std::span<const RecordRun> runs) override {
    if (!append_errors.empty()) {
      const auto error = append_errors.front();
      append_errors.pop_front();
      if (error) {
        return std::unexpected(*error);
      }
    }
    std::int64_t count = 0;
    for (const RecordRun& run : runs) {
      if (run.starts_segment) {
        position_ = Position(0);
      }
      position_ += static_cast<std::int64_t>(run.bytes.size());
      unsynced_ += static_cast<std::int64_t>(run.bytes.size());
      BOOBLIK_CHECK(position_.value() <= capacity_, "a run fits its segment");
      count += take(run);
    }
    group_sizes.push_back(count);
    end_ += count;
    return {};
  }

  Result<void> roll_if_older(Duration age) override {
    rolled = age;
    position_ = Position(0);
    return {};
  }

  Result<Offset> sync() override {
    const std::int64_t number = ++barriers_started;
    const Offset covered = end_;
    unsynced_ = 0;
    while (number > barriers_allowed_) {
      released_.wait(Deadline::never());
    }
    if (barrier_error) {
      failure_ = barrier_error;
      return std::unexpected(*barrier_error);
    }
    durable_ = covered;
    return covered;
  }

  Result<Slice> read(Offset, std::int64_t) override { return fail(ErrorCode::io, "not scripted"); }
  Result<Available> available(Offset) override { return fail(ErrorCode::io, "not scripted"); }
  Result<std::int64_t> apply_retention(const RetentionLimits&) override { return 0; }
  [[nodiscard]] PartitionCheckpoint checkpoint() const override { return {}; }

 private:
  std::int64_t take(const RecordRun& run) {
    std::int64_t count = 0;
    ByteReader reader(run.bytes);
    while (const auto size = reader.read<std::int32_t>()) {
      const auto crc = reader.read<std::uint32_t>();
      const auto payload = reader.read_bytes(static_cast<std::size_t>(*size));
      BOOBLIK_CHECK(payload && crc == crc32c(*payload), "a run is whole records with their checksums");
      records.emplace_back(payload->begin(), payload->end());
      ++count;
    }
    BOOBLIK_CHECK(count == run.records, "a run says how many records it holds");
    return count;
  }

  TopicPartition id_{"scripted", PartitionId(0)};
  RecoveryReport report_;
  std::int64_t capacity_;
  Offset end_;
  Offset durable_;
  Position position_;
  std::int64_t unsynced_ = 0;
  std::optional<Error> failure_;
  env::Event released_;
  std::int64_t barriers_allowed_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace booblik::log
