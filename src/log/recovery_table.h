// The decisions of recovery as a total table: docs/disk-format.md shows the same rows, tests/log has a test
// for each.
//
// The *line* is the offset below which nothing is ever cut (recovery_plan.h): what is wrong there is damage.
// At and above it nobody was promised anything that is not found intact, so the log ends where the first
// record is missing. Only segments that hold no record can lie behind that end.
#pragma once

#include <cstdint>
#include <string_view>

#include "log/recovery_report.h"
#include "log/segment_reader.h"

namespace booblik::log {

// Where the records of a segment end.
enum class EndsAt : std::uint8_t {
  newest_at_line,     // the newest segment, at or above the line
  newest_below_line,  // the newest segment, below it
  successor,          // exactly where the next segment begins
  hole_at_line,       // before the next segment begins, at or above the line
  hole_below_line,    // before the next segment begins, below the line
  overlap_at_line,    // behind the beginning of the next, which is at or above the line and holds no record
  overlap_below_line,
};

// What follows the last record.
enum class Behind : std::uint8_t { nothing, zeros, bytes };

enum class Action : std::uint8_t {
  keep,     // leave the file as it is
  cut,      // truncate behind the last record, sync
  end_log,  // cut, and remove the later segments, which hold no record, newest first
  seal,     // leave the file as it is and append to a new segment
};

struct Verdict {
  Outcome outcome;
  Action action;

  bool operator==(const Verdict&) const = default;
};

[[nodiscard]] Verdict decide(EndsAt ends_at, Behind behind);

[[nodiscard]] Behind behind(RecordState stopped_at);

}  // namespace booblik::log
