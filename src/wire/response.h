// Answers: written by the broker, read by clients. The fixed sizes let a broker put many into one buffer.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/protocol.h"

namespace booblik::wire {

// Whole frames, length field included.
inline constexpr std::size_t kErrorResponseBytes = 10;
inline constexpr std::size_t kProduceResponseBytes = 26;
inline constexpr std::size_t kFetchResponseHeaderBytes = 22;  // the payload follows

// Each writes exactly its constant's bytes at `to` and returns how many.
std::size_t put_error_response(std::byte* to, std::int32_t correlation_id, WireError error);
std::size_t put_produce_response(std::byte* to, std::int32_t correlation_id, Offset base_offset,
                                 Offset log_end_offset);
// payload_bytes in [0, kMaxFetchPayloadBytes].
std::size_t put_fetch_response_header(std::byte* to, std::int32_t correlation_id, Offset high_watermark,
                                      std::int32_t payload_bytes);

// METADATA is written piece by piece, so that no buffer grows with the number of topics.
// `body_bytes` is all that follows errorCode: the sum of the pieces below.
void append_metadata_header(std::vector<std::byte>& out, std::int32_t correlation_id, std::int32_t body_bytes,
                            std::int32_t topic_count);
void append_metadata_topic(std::vector<std::byte>& out, std::string_view name, std::int32_t partition_count);
void append_metadata_partition(std::vector<std::byte>& out, PartitionId partition, Offset log_start,
                               Offset high_watermark);
inline constexpr std::int64_t kMetadataFixedBytes = 4;  // topicCount
inline constexpr std::int64_t kMetadataTopicBytes = 6;  // plus the name
inline constexpr std::int64_t kMetadataPartitionBytes = 20;

// --- the client's side
// -------------------------------------------------------------------------------------------

struct ResponseHeader {
  std::int32_t correlation_id = 0;
  WireError error = WireError::none;
};

struct ProduceResponse {
  Offset base_offset;
  Offset log_end_offset;
};

struct FetchResponse {
  Offset high_watermark;
  Bytes payload;  // a view into the frame
};

struct PartitionMetadata {
  PartitionId partition;
  Offset log_start;
  Offset high_watermark;

  auto operator<=>(const PartitionMetadata&) const = default;
};

struct TopicMetadata {
  std::string name;
  std::vector<PartitionMetadata> partitions;

  auto operator<=>(const TopicMetadata&) const = default;
};

// All decoders take the bytes behind the length field, are total, allocate nothing from an announced count
// that the bytes cannot hold, and say in `reason` what is wrong with a frame that a correct broker cannot
// send.
struct BadResponse {
  const char* reason = "";
};

[[nodiscard]] std::expected<ResponseHeader, BadResponse> decode_response_header(Bytes frame);
[[nodiscard]] std::expected<ProduceResponse, BadResponse> decode_produce_response(Bytes frame);
[[nodiscard]] std::expected<FetchResponse, BadResponse> decode_fetch_response(Bytes frame);
[[nodiscard]] std::expected<std::vector<TopicMetadata>, BadResponse> decode_metadata_response(Bytes frame);

}  // namespace booblik::wire
