// CRC-32C (Castagnoli): reflected polynomial 0x82F63B78, init and xorout 0xFFFFFFFF; "123456789" gives
// 0xE3069283. Two implementations, by length: an inlined loop over the SSE4.2 instruction up to
// kCrc32cInlineMax bytes, ISA-L (which folds several streams at once) above; the crossing point was measured
// on Zen 4.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace booblik {

inline constexpr std::size_t kCrc32cInlineMax = 128;

[[nodiscard]] std::uint32_t crc32c(Bytes bytes);

// The checksum of what gave `sum` followed by `bytes`; the sum of nothing is 0. For data that comes in
// pieces.
[[nodiscard]] std::uint32_t crc32c_extend(std::uint32_t sum, Bytes bytes);

// Copies `from` to `to` (which has room for it and does not overlap) and returns the checksum of the bytes:
// one pass through the cache instead of two.
[[nodiscard]] std::uint32_t crc32c_copy(std::byte* to, Bytes from);

}  // namespace booblik
