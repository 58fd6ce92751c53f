// Points in time as values. Nothing here reads a clock: only env::Clock does.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace booblik {

using Duration = std::chrono::nanoseconds;

// A reading of the monotonic clock: nanoseconds from a start that means nothing.
class Instant {
 public:
  constexpr Instant() = default;
  constexpr explicit Instant(Duration since_start) : since_start_(since_start) {}

  [[nodiscard]] constexpr Duration since_start() const { return since_start_; }

  constexpr auto operator<=>(const Instant&) const = default;

  friend constexpr Instant operator+(Instant instant, Duration duration) {
    return Instant(instant.since_start_ + duration);
  }
  friend constexpr Duration operator-(Instant to, Instant from) {
    return to.since_start_ - from.since_start_;
  }

 private:
  Duration since_start_{0};
};

// The latest instant that a call may wait for; absolute, so that retries do not stretch it.
class Deadline {
 public:
  constexpr explicit Deadline(Instant at) : at_(at) {}

  // Waits as long as it takes.
  static constexpr Deadline never() { return Deadline(Instant(Duration::max())); }
  // Does not wait: what cannot be done now times out.
  static constexpr Deadline immediately() { return Deadline(Instant(Duration::min())); }

  [[nodiscard]] constexpr Instant at() const { return at_; }
  [[nodiscard]] constexpr bool is_never() const { return at_ == never().at_; }
  [[nodiscard]] constexpr bool passed(Instant now) const { return now >= at_; }

  constexpr auto operator<=>(const Deadline&) const = default;

 private:
  Instant at_;
};

// Wall-clock time in milliseconds since 1970. It may jump, so nothing waits on it: it only dates data.
class WallTime {
 public:
  constexpr WallTime() = default;
  constexpr explicit WallTime(std::int64_t milliseconds) : milliseconds_(milliseconds) {}

  [[nodiscard]] constexpr std::int64_t milliseconds() const { return milliseconds_; }

  constexpr auto operator<=>(const WallTime&) const = default;

 private:
  std::int64_t milliseconds_ = 0;
};

}  // namespace booblik
