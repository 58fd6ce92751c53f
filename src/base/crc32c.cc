#include "base/crc32c.h"

#include <isa-l/crc.h>
#include <nmmintrin.h>

#include <algorithm>
#include <cstring>

namespace booblik {
namespace {

constexpr std::uint32_t kInit = 0xFFFFFFFFU;
// A piece that is still in the first-level cache when it is checksummed after its copy.
constexpr std::size_t kCopyPiece = 8192;

// Goes on from `start` over `size` bytes, eight at a time; with `to` it also stores each word that it has
// loaded.
template <bool copying>
std::uint32_t inline_loop(std::uint32_t start, std::byte* to, const std::byte* from, std::size_t size) {
  std::uint64_t crc = start;
  while (size >= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    if constexpr (copying) {
      std::memcpy(to, &word, sizeof word);
      to += sizeof word;
    }
    crc = _mm_crc32_u64(crc, word);
    from += sizeof word;
    size -= sizeof word;
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; size > 0; --size, ++from) {
    if constexpr (copying) {
      *to++ = *from;
    }
    narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*from));
  }
  return narrow;
}

// ISA-L keeps the running value un-inverted, takes a mutable pointer that it only reads, and an int length.
std::uint32_t isal_step(std::uint32_t crc, const std::byte* from, std::size_t size) {
  auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(from));
  return crc32_iscsi(bytes, static_cast<int>(size), crc);
}

}  // namespace

std::uint32_t crc32c(Bytes bytes) {
  return crc32c_extend(0, bytes);
}

std::uint32_t crc32c_extend(std::uint32_t sum, Bytes bytes) {
  std::uint32_t crc = ~sum;
  if (bytes.size() <= kCrc32cInlineMax) {
    return ~inline_loop<false>(crc, nullptr, bytes.data(), bytes.size());
  }
  constexpr std::size_t kLargestStep = std::size_t{1} << 30U;
  while (!bytes.empty()) {
    const std::size_t step = std::min(bytes.size(), kLargestStep);
    crc = isal_step(crc, bytes.data(), step);
    bytes = bytes.subspan(step);
  }
  return ~crc;
}

std::uint32_t crc32c_copy(std::byte* to, Bytes from) {
  if (from.size() <= kCrc32cInlineMax) {
    return ~inline_loop<true>(kInit, to, from.data(), from.size());
  }
  std::uint32_t crc = kInit;
  while (!from.empty()) {
    const std::size_t step = std::min(from.size(), kCopyPiece);
    std::memcpy(to, from.data(), step);
    crc = isal_step(crc, to, step);
    to += step;
    from = from.subspan(step);
  }
  return ~crc;
}

}  // namespace booblik
