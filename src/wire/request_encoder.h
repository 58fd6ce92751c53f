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

// One PRODUCE frame that grows record by record: each payload is copied once, to where it will be sent from.
class ProduceFrame {
 public:
  ProduceFrame(std::string_view topic, PartitionId partition, AckPolicy acks);

  // The largest payload that any frame of this topic can carry.
  [[nodiscard]] std::size_t payload_bytes_max() const;
  // Whether a payload of so many bytes still goes into this frame.
  [[nodiscard]] bool fits(std::size_t payload_bytes) const;

  // `payload` is not empty and fits (checked).
  void add(Bytes payload);

  [[nodiscard]] std::int32_t count() const { return count_; }
  // The whole frame as it would be sent now, length field included.
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  // Completes the frame (count() > 0) and returns it; valid until the next call of add, clear or the
  // destructor.
  [[nodiscard]] Bytes finish(std::int32_t correlation_id);

  // Back to no records, for `partition` of the same topic; keeps the memory.
  void clear(PartitionId partition);

 private:
  std::vector<std::byte> bytes_;
  std::size_t records_at_ = 0;  // the first record, right behind partitionId, ackPolicy and recordCount
  std::int32_t count_ = 0;
};

}  // namespace booblik::wire
