// Big-endian integers in byte spans: the byte order of the wire and of the disk (protocol, top).
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace booblik {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

// A view of the same memory; the bytes need not be UTF-8.
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `from` points at sizeof(T) readable bytes of any alignment.
template <std::integral T>
[[nodiscard]] inline T load_big_endian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::little && sizeof(T) > 1) {
    value = std::byteswap(value);
  }
  return value;
}

// `to` points at sizeof(T) writable bytes of any alignment.
template <std::integral T>
inline void store_big_endian(std::byte* to, T value) {
  if constexpr (std::endian::native == std::endian::little && sizeof(T) > 1) {
    value = std::byteswap(value);
  }
  std::memcpy(to, &value, sizeof value);
}

// Reads fields one after another and never past the end: a field that does not fit is nullopt, and the
// reader stays where it was.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : rest_(bytes) {}

  template <std::integral T>
  [[nodiscard]] std::optional<T> read() {
    if (rest_.size() < sizeof(T)) {
      return std::nullopt;
    }
    const T value = load_big_endian<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  // The view lives as long as the bytes that the reader was made from.
  [[nodiscard]] std::optional<Bytes> read_bytes(std::size_t count) {
    if (rest_.size() < count) {
      return std::nullopt;
    }
    const Bytes bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }

  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }
  [[nodiscard]] Bytes rest() const { return rest_; }

 private:
  Bytes rest_;
};

}  // namespace booblik
