// What recovery found in a partition, for the log line, the metrics, health and `booblik log verify`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace booblik::log {

// docs/disk-format.md has the table: when each is found and what is done.
enum class Outcome {
  clean_end,        // the records end where the file ends
  zero_tail,        // unwritten space behind the end
  torn_tail,        // bytes that were never vouched for and do not make a record
  trailing_bytes,   // an older segment has bytes behind its last record, and none is missing
  damaged_records,  // bytes that were vouched for are no longer records
  short_segment,    // the file ends below the recovery point
  gap,              // no file holds the offsets between two segments
  overlap,          // a segment begins at an offset that an earlier one holds
  missing_log,      // the checkpoint knows the partition, but it has no segment
  unreachable,      // a segment behind the end of the log that holds no record
  foreign_file,     // not a name that this broker gives
  wrong_index,      // an index file whose summary speaks of another segment than the one beside it
};

[[nodiscard]] std::string_view to_string(Outcome outcome);

// True for what loses records that were vouched for, or makes them unreadable.
[[nodiscard]] bool is_damage(Outcome outcome);

struct Finding {
  Outcome outcome = Outcome::clean_end;
  std::string file;   // its name in the directory of the partition
  Position position;  // where in the file
  Offset from;        // the offsets that it is about: [from, to)
  Offset to;
  std::int64_t bytes = 0;  // removed, or unreadable

  auto operator<=>(const Finding&) const = default;
};

struct RecoveryReport {
  static constexpr std::size_t kFindingsMax = 1000;

  std::vector<Finding>
      findings;  // the first kFindingsMax, without clean ends; damage found while reading is added
  std::int64_t findings_total = 0;
  std::int64_t damage_total = 0;     // findings that are damage
  std::int64_t damaged_offsets = 0;  // how many records they are about
  std::int64_t segments_scanned = 0;
  std::int64_t segments_removed = 0;  // unreachable ones
  std::int64_t indexes_rebuilt = 0;
  std::int64_t bytes_scanned = 0;
  std::int64_t bytes_rewritten = 0;
  std::int64_t bytes_cut = 0;
  Duration took{0};

  [[nodiscard]] bool damaged() const { return damage_total > 0; }
  void add(Finding finding);
};

}  // namespace booblik::log
