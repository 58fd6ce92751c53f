#include "log/append_times.h"

#include <algorithm>
#include <chrono>

namespace booblik::log {
namespace {

// Far more than any retention, and far from the end of a Duration.
constexpr std::int64_t kAgeMaxMillis = 50LL * 365 * 24 * 3600 * 1000;

}  // namespace

AppendTimes appended_now(const env::Clock& clock) {
  const WallTime wall = clock.wall();
  const Instant now = clock.now();
  return {.first_wall = wall, .last_wall = wall, .first = now, .last = now};
}

AppendTimes appended_at(const env::Clock& clock, WallTime first, WallTime last) {
  const AppendTimes now = appended_now(clock);
  const auto known = [&](WallTime time) {
    return time == WallTime() ? now.last_wall : std::min(time, now.last_wall);
  };
  const auto instant = [&](WallTime time) {
    const std::int64_t age = std::min(now.last_wall.milliseconds() - time.milliseconds(), kAgeMaxMillis);
    return now.last + -Duration(std::chrono::milliseconds(age));
  };
  AppendTimes times;
  times.last_wall = known(last);
  times.first_wall = std::min(known(first), times.last_wall);
  times.first = instant(times.first_wall);
  times.last = instant(times.last_wall);
  return times;
}

}  // namespace booblik::log
