#include "sim/program/wall_clock.h"

#include <chrono>

namespace booblik::sim {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace booblik::sim
