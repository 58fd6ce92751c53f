// A record as it lies on disk and travels in a FETCH answer: int32 payload size (> 0), int32 CRC-32C of the
// payload, payload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"

namespace booblik::log {

// No log gets there. A file name or a derived file that speaks of more is not this broker's, so that sums of
// offsets and of positions cannot overflow whatever is found on disk.
inline constexpr Offset kOffsetMax{std::int64_t{1} << 62U};
inline constexpr Position kPositionMax{std::int64_t{1} << 62U};

inline constexpr std::int64_t kRecordHeaderBytes = 8;
inline constexpr std::int64_t kRecordBytesMin = kRecordHeaderBytes + 1;

struct RecordHeader {
  std::int32_t payload_bytes = 0;
  std::uint32_t crc = 0;

  [[nodiscard]] std::int64_t record_bytes() const { return kRecordHeaderBytes + payload_bytes; }
};

// `from` points at kRecordHeaderBytes readable bytes. The size may be anything: what was read may be damaged.
[[nodiscard]] inline RecordHeader load_record_header(const std::byte* from) {
  return {.payload_bytes = load_big_endian<std::int32_t>(from),
          .crc = load_big_endian<std::uint32_t>(from + sizeof(std::int32_t))};
}

}  // namespace booblik::log
