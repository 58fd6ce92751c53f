// Seeds as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace booblik::sim {

struct SeedRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // included
};

// Decimal; 0x and up to 16 hexadecimal digits; or a commit hash of 40 hexadecimal digits, of which the first
// 16 are the seed. ErrorCode::invalid says what is wrong.
[[nodiscard]] Result<std::uint64_t> parse_seed(std::string_view text);

// "A..B", both written as above.
[[nodiscard]] Result<SeedRange> parse_seeds(std::string_view text);

}  // namespace booblik::sim
