// Which partition a key belongs to: FNV-1a, 32 bit, over the key's bytes, then an unsigned remainder by the
// partition count (Fowler, Noll and Vo; offset basis 0x811C9DC5, prime 0x01000193). Every client of every
// language must agree on it, or the order of one key's records is lost without a word: conformance/vectors.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ids.h"

namespace booblik::client {

[[nodiscard]] constexpr std::uint32_t fnv1a(Bytes key) {
  std::uint32_t hash = 0x811C9DC5U;
  for (const std::byte byte : key) {
    hash = (hash ^ static_cast<std::uint32_t>(byte)) * 0x01000193U;
  }
  return hash;
}

// partition_count > 0.
[[nodiscard]] inline PartitionId partition_for_key(Bytes key, std::int32_t partition_count) {
  BOOBLIK_CHECK(partition_count > 0, "a topic has at least one partition");
  return PartitionId(static_cast<std::int32_t>(fnv1a(key) % static_cast<std::uint32_t>(partition_count)));
}

}  // namespace booblik::client
