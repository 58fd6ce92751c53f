// One partition on a disk in memory, and what tests do with it again and again.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "env/clock.h"
#include "env/logger.h"
#include "env/probe.h"
#include "log/index.h"
#include "log/partition_log.h"
#include "log/recovery_report.h"
#include "log/segment_files.h"
#include "memory_disk.h"

namespace booblik::log {

class TestClock final : public env::Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] WallTime wall() const override { return wall_; }

  // Both clocks.
  void advance(Duration duration);
  void jump_wall(Duration duration);

 private:
  Instant now_;
  WallTime wall_{1'700'000'000'000};
};

class TestLogger final : public env::Logger {
 public:
  void write(env::Level level, std::string_view line) override {
    lines.emplace_back(line);
    errors += level == env::Level::error ? 1 : 0;
  }

  [[nodiscard]] bool has(std::string_view part) const;

  std::vector<std::string> lines;
  int errors = 0;
};

class TestProbe final : public env::Probe {
 public:
  void hit(std::string_view name) override { hits.insert(std::string(name)); }

  std::set<std::string> hits;
};

// The record on disk for a payload.
[[nodiscard]] std::vector<std::byte> encode(std::string_view payload);
[[nodiscard]] std::vector<std::byte> encode(const std::vector<std::string>& payloads);

class LogWorld {
 public:
  explicit LogWorld(LogOptions log_options = {.segment_capacity_bytes = 100, .index_interval_bytes = 1});

  static std::string path(std::int64_t base, std::string_view suffix = ".log");

  // Opens or reopens; the handles of before are closed first, as the end of a process does.
  Result<void> open();
  // Ends the process without a word.
  void kill();
  // Syncs, keeps the checkpoint, ends.
  void stop();

  // Appends as one group, rolling as a writer does when a record does not fit.
  Result<void> append(const std::vector<std::string>& payloads);

  // The payload at an offset, by the public calls alone.
  Result<std::string> read(std::int64_t offset);
  // Everything from `offset` on until the end or an error.
  std::vector<std::string> read_all(std::int64_t offset);

  // Outcomes of the last open, without repetition, in order of name.
  [[nodiscard]] std::set<Outcome> outcomes() const;

  LogOptions options;
  MemoryDisk disk;
  TestClock clock;
  TestLogger logger;
  TestProbe probe;
  std::size_t open_files_max = 4;
  std::int64_t index_bytes_max = 4096;
  std::optional<PartitionCheckpoint> checkpoint;
  std::unique_ptr<SegmentFiles> files;
  std::unique_ptr<IndexCache> indexes;
  std::unique_ptr<PartitionLog> log;
};

}  // namespace booblik::log
