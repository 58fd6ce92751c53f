// The clocks of the machine.
#pragma once

#include "env/clock.h"
#include "env/posix/system_calls.h"

namespace booblik::env {

class PosixClock final : public Clock {
 public:
  explicit PosixClock(SystemCalls& system) : system_(system) {}

  [[nodiscard]] Instant now() const override { return Instant(Duration(system_.monotonic_nanoseconds())); }

  [[nodiscard]] WallTime wall() const override { return WallTime(system_.wall_nanoseconds() / 1'000'000); }

 private:
  SystemCalls& system_;
};

}  // namespace booblik::env
