// Requests as clients send them. Each call appends one whole frame to `out`; the arguments must keep the
// contract's rules (checked: a program error otherwise), except where a test says raw.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/protocol.h"

namespace booblik::wire {

void encode_produce(std::vector<std::byte>& out, std::int32_t correlation_id, std::string_view topic,
                    PartitionId partition, AckPolicy acks, std::span<const Bytes> payloads);

// v1, or v2 when `max_wait` or `min_bytes` is not zero.
void encode_fetch(std::vector<std::byte>& out, std::int32_t correlation_id, std::string_view topic,
                  PartitionId partition, Offset offset, std::int32_t max_bytes,
                  std::chrono::milliseconds max_wait, std::int32_t min_bytes);

// No topics: all of them.
void encode_metadata(std::vector<std::byte>& out, std::int32_t correlation_id,
                     std::span<const std::string_view> topics);

}  // namespace booblik::wire
