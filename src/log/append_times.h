// When the records of a segment were appended. Ages are measured on the monotonic clock, so a jump of the
// wall clock never makes data old or young while the broker runs; wall time carries an age over a restart.
#pragma once

#include "base/time.h"
#include "env/clock.h"

namespace booblik::log {

struct AppendTimes {
  WallTime first_wall;
  WallTime last_wall;
  Instant first;
  Instant last;
};

// Of a segment without records so far, or one that gets its first now.
[[nodiscard]] AppendTimes appended_now(const env::Clock& clock);

// From what an earlier run wrote down. What is unknown (0) counts as appended now, and so does what lies in
// the future: then it ages from here on, and neither is deleted too early nor kept for ever.
[[nodiscard]] AppendTimes appended_at(const env::Clock& clock, WallTime first, WallTime last);

}  // namespace booblik::log
