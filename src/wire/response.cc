#include "wire/response.h"

#include <utility>

#include "base/check.h"
#include "wire/topic_name.h"

namespace booblik::wire {
namespace {

// Puts the length field and the header, and returns where the body begins.
std::byte* put_header(std::byte* to, std::size_t frame_and_length, std::int32_t correlation_id,
                      WireError error) {
  store_big_endian(to, static_cast<std::int32_t>(frame_and_length) - kFrameLengthBytes);
  store_big_endian(to + 4, correlation_id);
  store_big_endian(to + 8, std::to_underlying(error));
  return to + 10;
}

template <std::integral T>
void append_big_endian(std::vector<std::byte>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  store_big_endian(out.data() + at, value);
}

std::unexpected<BadResponse> bad(const char* reason) {
  return std::unexpected(BadResponse{reason});
}

// The body of a success answer.
std::expected<ByteReader, BadResponse> success_body(Bytes frame) {
  const auto header = decode_response_header(frame);
  if (!header) {
    return std::unexpected(header.error());
  }
  if (header->error != WireError::none) {
    return bad("the answer is an error, so it has no body");
  }
  return ByteReader(frame.subspan(kResponseHeaderBytes));
}

// Null when the partition was read, otherwise what is wrong.
const char* read_partition(ByteReader& body, PartitionMetadata& partition) {
  const auto id = body.read<std::int32_t>();
  const auto log_start = body.read<std::int64_t>();
  const auto high_watermark = body.read<std::int64_t>();
  if (!id || !log_start || !high_watermark) {
    return "the frame ends inside a partition";
  }
  if (*id < 0) {
    return "partitionId is negative";
  }
  if (*log_start < 0 || *high_watermark < *log_start) {
    return "a partition's offsets are not 0 <= logStartOffset <= highWatermark";
  }
  partition = {PartitionId(*id), Offset(*log_start), Offset(*high_watermark)};
  return nullptr;
}

const char* read_topic(ByteReader& body, TopicMetadata& topic) {
  const auto length = body.read<std::uint16_t>();
  const auto name = length ? body.read_bytes(*length) : std::nullopt;
  if (!name) {
    return "the frame ends inside a topic name";
  }
  if (!is_valid_topic_name(as_text(*name))) {
    return "a topic name breaks the rules for names";
  }
  topic.name = as_text(*name);
  const auto count = body.read<std::int32_t>();
  if (!count) {
    return "the frame ends before partitionCount";
  }
  if (*count < 0 ||
      std::int64_t{*count} * kMetadataPartitionBytes > static_cast<std::int64_t>(body.remaining())) {
    return "partitionCount is negative or more than the frame can hold";
  }
  topic.partitions.resize(static_cast<std::size_t>(*count));
  for (PartitionMetadata& partition : topic.partitions) {
    if (const char* broken = read_partition(body, partition)) {
      return broken;
    }
  }
  return nullptr;
}

}  // namespace

std::size_t put_error_response(std::byte* to, std::int32_t correlation_id, WireError error) {
  BOOBLIK_CHECK(error != WireError::none, "an error answer has an error code");
  put_header(to, kErrorResponseBytes, correlation_id, error);
  return kErrorResponseBytes;
}

std::size_t put_produce_response(std::byte* to, std::int32_t correlation_id, Offset base_offset,
                                 Offset log_end_offset) {
  std::byte* body = put_header(to, kProduceResponseBytes, correlation_id, WireError::none);
  store_big_endian(body, base_offset.value());
  store_big_endian(body + 8, log_end_offset.value());
  return kProduceResponseBytes;
}

std::size_t put_fetch_response_header(std::byte* to, std::int32_t correlation_id, Offset high_watermark,
                                      std::int32_t payload_bytes) {
  BOOBLIK_CHECK(payload_bytes >= 0 && payload_bytes <= kMaxFetchPayloadBytes,
                "a FETCH payload fits its frame");
  const auto whole = kFetchResponseHeaderBytes + static_cast<std::size_t>(payload_bytes);
  std::byte* body = put_header(to, whole, correlation_id, WireError::none);
  store_big_endian(body, high_watermark.value());
  store_big_endian(body + 8, payload_bytes);
  return kFetchResponseHeaderBytes;
}

void append_metadata_header(std::vector<std::byte>& out, std::int32_t correlation_id, std::int32_t body_bytes,
                            std::int32_t topic_count) {
  BOOBLIK_CHECK(body_bytes >= kMetadataFixedBytes && body_bytes <= kMaxFrameBytes - kResponseHeaderBytes,
                "a METADATA answer fits its frame");
  append_big_endian(out, kResponseHeaderBytes + body_bytes);
  append_big_endian(out, correlation_id);
  append_big_endian(out, std::to_underlying(WireError::none));
  append_big_endian(out, topic_count);
}

void append_metadata_topic(std::vector<std::byte>& out, std::string_view name, std::int32_t partition_count) {
  append_big_endian(out, static_cast<std::uint16_t>(name.size()));
  const Bytes bytes = as_bytes(name);
  out.insert(out.end(), bytes.begin(), bytes.end());
  append_big_endian(out, partition_count);
}

void append_metadata_partition(std::vector<std::byte>& out, PartitionId partition, Offset log_start,
                               Offset high_watermark) {
  append_big_endian(out, partition.value());
  append_big_endian(out, log_start.value());
  append_big_endian(out, high_watermark.value());
}

std::expected<ResponseHeader, BadResponse> decode_response_header(Bytes frame) {
  ByteReader reader(frame);
  const auto correlation_id = reader.read<std::int32_t>();
  const auto error = reader.read<std::int16_t>();
  if (!correlation_id || !error) {
    return bad("the frame is too short for a response header");
  }
  if (*error < std::to_underlying(WireError::none) ||
      *error > std::to_underlying(WireError::corrupt_request)) {
    return bad("errorCode is not between 0 and 5");
  }
  if (*error != 0 && reader.remaining() != 0) {
    return bad("an error answer has a body");
  }
  return ResponseHeader{*correlation_id, static_cast<WireError>(*error)};
}

std::expected<ProduceResponse, BadResponse> decode_produce_response(Bytes frame) {
  auto body = success_body(frame);
  if (!body) {
    return std::unexpected(body.error());
  }
  const auto base_offset = body->read<std::int64_t>();
  const auto log_end_offset = body->read<std::int64_t>();
  if (!base_offset || !log_end_offset || body->remaining() != 0) {
    return bad("a PRODUCE answer has a body of 16 bytes");
  }
  if (*base_offset < 0 || *log_end_offset <= *base_offset) {
    return bad("the offsets are not 0 <= baseOffset < logEndOffset");
  }
  return ProduceResponse{Offset(*base_offset), Offset(*log_end_offset)};
}

std::expected<FetchResponse, BadResponse> decode_fetch_response(Bytes frame) {
  auto body = success_body(frame);
  if (!body) {
    return std::unexpected(body.error());
  }
  const auto high_watermark = body->read<std::int64_t>();
  const auto payload_bytes = body->read<std::int32_t>();
  if (!high_watermark || !payload_bytes) {
    return bad("the frame ends before the payload of a FETCH answer");
  }
  if (*high_watermark < 0) {
    return bad("highWatermark is negative");
  }
  if (*payload_bytes < 0 || static_cast<std::size_t>(*payload_bytes) != body->remaining()) {
    return bad("payloadBytes is not what is left of the frame");
  }
  return FetchResponse{Offset(*high_watermark), body->rest()};
}

std::expected<std::vector<TopicMetadata>, BadResponse> decode_metadata_response(Bytes frame) {
  auto body = success_body(frame);
  if (!body) {
    return std::unexpected(body.error());
  }
  const auto count = body->read<std::int32_t>();
  if (!count || *count < 0) {
    return bad("topicCount is missing or negative");
  }
  if (std::int64_t{*count} * kMetadataTopicBytes > static_cast<std::int64_t>(body->remaining())) {
    return bad("topicCount is more than the frame can hold");
  }
  std::vector<TopicMetadata> topics;
  for (std::int32_t i = 0; i < *count; ++i) {
    if (const char* broken = read_topic(*body, topics.emplace_back())) {
      return bad(broken);
    }
  }
  if (body->remaining() != 0) {
    return bad("there are bytes behind the end of a METADATA answer");
  }
  return topics;
}

}  // namespace booblik::wire
