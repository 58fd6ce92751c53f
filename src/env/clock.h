// The two clocks of an environment.
#pragma once

#include "base/time.h"

namespace booblik::env {

class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back. Deadlines are measured on it.
  [[nodiscard]] virtual Instant now() const = 0;

  // May jump either way. It only dates data; nothing may wait on it or rely on its order.
  [[nodiscard]] virtual WallTime wall() const = 0;
};

}  // namespace booblik::env
