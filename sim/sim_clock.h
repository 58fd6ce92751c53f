// The clocks of one machine: the monotonic one is the scheduler's virtual time; the wall clock drifts and
// jumps.
#pragma once

#include <algorithm>

#include "env/clock.h"
#include "env/random.h"
#include "sim/faults.h"
#include "sim/random_stream.h"
#include "sim/scheduler.h"

namespace booblik::sim {

class SimClock final : public env::Clock {
 public:
  SimClock(const SimScheduler& scheduler, ClockOptions options, std::uint64_t seed)
      : scheduler_(scheduler), options_(options), jumps_(random_stream(seed, "wall clock")) {
    next_jump_ = Instant() + options_.jump_every;
  }

  [[nodiscard]] Instant now() const override { return scheduler_.now(); }

  [[nodiscard]] WallTime wall() const override {
    // Jumps are drawn in the order of their times, however seldom somebody looks.
    while (options_.jump_every > Duration(0) && next_jump_ <= now()) {
      offset_milliseconds_ +=
          between(jumps_, -options_.jump_milliseconds_max, options_.jump_milliseconds_max);
      next_jump_ = next_jump_ + options_.jump_every;
    }
    const std::int64_t elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(now().since_start()).count();
    return WallTime(options_.wall_start_milliseconds + elapsed +
                    elapsed * options_.drift_per_million / 1'000'000 + offset_milliseconds_);
  }

 private:
  const SimScheduler& scheduler_;
  ClockOptions options_;
  mutable env::Random jumps_;
  mutable Instant next_jump_;
  mutable std::int64_t offset_milliseconds_ = 0;
};

}  // namespace booblik::sim
