// Takes choices from the front of an input. Behind the end there are zeros, so every input is a whole one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace booblik::fuzz {

class InputReader {
 public:
  InputReader(const std::uint8_t* data, std::size_t size) : rest_(std::as_bytes(std::span(data, size))) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  std::uint8_t byte() { return number<std::uint8_t>(); }

  template <std::integral T>
  T number() {
    std::byte bytes[sizeof(T)] = {};
    const Bytes taken = take(sizeof(T));
    std::ranges::copy(taken, bytes);
    return load_big_endian<T>(bytes);
  }

  // In [0, bound); bound is at most 256.
  std::size_t below(std::size_t bound) { return byte() % bound; }

  // At most `count`.
  Bytes take(std::size_t count) {
    const Bytes taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  Bytes rest_;
};

}  // namespace booblik::fuzz
