// A record as it lies on disk and travels in a FETCH answer: int32 payload size (> 0), int32 CRC-32C of the
// payload, payload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace booblik::log {

inline constexpr std::int64_t kRecordHeaderBytes = 8;

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
