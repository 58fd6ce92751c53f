// Appends big-endian integers to a growing buffer: for the small derived files of this room.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace booblik::log {

template <std::integral T>
void append_big_endian(std::vector<std::byte>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  store_big_endian(out.data() + at, value);
}

inline void append_bytes(std::vector<std::byte>& out, Bytes bytes) {
  const std::size_t at = out.size();
  out.resize(at + bytes.size());
  std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(at));
}

// The checksum of everything in `out` from `from` on, appended.
inline void append_crc32c(std::vector<std::byte>& out, std::size_t from) {
  append_big_endian(out, crc32c(Bytes(out).subspan(from)));
}

}  // namespace booblik::log
