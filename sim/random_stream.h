// Random streams by concern: each concern draws from its own stream, so one more draw in one of them leaves
// the others as they were.
#pragma once

#include <cstdint>
#include <string_view>

#include "env/random.h"

namespace booblik::sim {

// The same (seed, concern) gives the same stream everywhere. FNV-1a, 64 bit, over the concern's name.
[[nodiscard]] inline env::Random random_stream(std::uint64_t seed, std::string_view concern) {
  std::uint64_t salt = 0xCBF29CE484222325U;
  for (const char character : concern) {
    salt = (salt ^ static_cast<unsigned char>(character)) * 0x100000001B3U;
  }
  return env::Random(env::Random(seed ^ salt).next());
}

// A fault happens once in so many times on average; 0 never.
using Odds = std::uint64_t;

[[nodiscard]] inline bool happens(env::Random& random, Odds odds) {
  return odds != 0 && random.one_in(odds);
}

// Uniform in [low, high].
[[nodiscard]] inline std::int64_t between(env::Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

}  // namespace booblik::sim
