// Fibers of one reactor. They are cooperative: between two calls that may park, nothing else runs, so state
// that is touched by one reactor's fibers needs no lock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace booblik::env {

// Names a fiber for its whole life and is never used again for another.
struct FiberId {
  std::uint64_t value = 0;  // 0: no fiber

  auto operator<=>(const FiberId&) const = default;
};

enum class Wake {
  unparked,  // somebody called unpark (perhaps before the park)
  deadline,
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Makes a fiber ready; it first runs when the caller parks or yields. `name` is for traces and leak
  // reports. An exception that leaves `body` ends the process.
  virtual FiberId spawn(std::string name, std::move_only_function<void()> body) = 0;

  // The fiber that is running. Must be called from a fiber.
  [[nodiscard]] virtual FiberId current() const = 0;

  // Lets every other ready fiber run once before the caller goes on.
  virtual void yield() = 0;

  // Parks the caller until unpark or the deadline. A permit left by an earlier unpark is consumed and
  // returned at once, so a wake-up between a check and its park is never lost; callers therefore park in a
  // loop over their condition.
  virtual Wake park(Deadline deadline) = 0;

  // Wakes a parked fiber, or leaves one permit (not a count) for its next park. Nothing happens for a fiber
  // that has ended.
  virtual void unpark(FiberId fiber) = 0;
};

}  // namespace booblik::env
