#include "wire/request.h"

#include <algorithm>

#include "wire/topic_name.h"

namespace booblik::wire {
namespace {

// Static text that names the broken rule; null when the field is sound.
using Broken = const char*;

constexpr std::int32_t kSmallestRecordBytes = 5;  // int32 payloadSize and one byte
constexpr std::int32_t kSmallestNameBytes = 3;    // u16 length and one byte

Broken read_topic(ByteReader& body, std::string_view& topic) {
  const auto length = body.read<std::uint16_t>();
  if (!length) {
    return "the frame ends before the topic's length";
  }
  const auto name = body.read_bytes(*length);
  if (!name) {
    return "the frame ends inside the topic";
  }
  topic = as_text(*name);
  return is_valid_topic_name(topic) ? nullptr : "the topic name breaks the rules for names";
}

Broken read_partition(ByteReader& body, PartitionId& partition) {
  const auto id = body.read<std::int32_t>();
  if (!id) {
    return "the frame ends before partitionId";
  }
  partition = PartitionId(*id);
  return *id >= 0 ? nullptr : "partitionId is negative";
}

Broken read_records(ByteReader& body, RecordBatch& records) {
  const auto count = body.read<std::int32_t>();
  if (!count) {
    return "the frame ends before recordCount";
  }
  if (*count <= 0) {
    return "recordCount is not positive";
  }
  const Bytes encoded = body.rest();
  if (std::int64_t{*count} * kSmallestRecordBytes > static_cast<std::int64_t>(encoded.size())) {
    return "recordCount is more than the frame can hold";
  }
  std::int32_t largest = 0;
  for (std::int32_t i = 0; i < *count; ++i) {
    const auto size = body.read<std::int32_t>();
    if (!size) {
      return "the frame ends before a payloadSize";
    }
    if (*size <= 0) {
      return "a payloadSize is not positive";
    }
    if (!body.read_bytes(static_cast<std::size_t>(*size))) {
      return "the frame ends inside a payload";
    }
    largest = std::max(largest, *size);
  }
  records = RecordBatch(encoded.first(encoded.size() - body.remaining()), *count, largest);
  return nullptr;
}

Broken check_end(const ByteReader& body) {
  return body.remaining() == 0 ? nullptr : "there are bytes behind the end of the body";
}

// `silenced` becomes true when the ackPolicy byte has asked for no answer.
Broken decode_produce(ByteReader body, ProduceRequest& request, bool& silenced) {
  if (const Broken broken = read_topic(body, request.topic)) {
    return broken;
  }
  if (const Broken broken = read_partition(body, request.partition)) {
    return broken;
  }
  const auto acks = body.read<std::int8_t>();
  if (!acks) {
    return "the frame ends before ackPolicy";
  }
  if (*acks < 0 || *acks > 2) {
    return "ackPolicy is not 0, 1 or 2";
  }
  request.acks = static_cast<AckPolicy>(*acks);
  silenced = request.acks == AckPolicy::none;
  if (const Broken broken = read_records(body, request.records)) {
    return broken;
  }
  return check_end(body);
}

Broken read_waiting(ByteReader& body, FetchRequest& request) {
  const auto max_wait = body.read<std::int32_t>();
  if (!max_wait) {
    return "the frame ends before maxWaitMillis";
  }
  if (*max_wait < 0) {
    return "maxWaitMillis is negative";
  }
  const auto min_bytes = body.read<std::int32_t>();
  if (!min_bytes) {
    return "the frame ends before minBytes";
  }
  if (*min_bytes < 0 || *min_bytes > request.max_bytes) {
    return "minBytes is not between 0 and maxBytes";
  }
  request.max_wait = std::chrono::milliseconds(std::min(*max_wait, kMaxFetchWaitMillis));
  request.min_bytes = *min_bytes;
  return nullptr;
}

Broken decode_fetch(ByteReader body, std::int16_t version, FetchRequest& request) {
  if (const Broken broken = read_topic(body, request.topic)) {
    return broken;
  }
  if (const Broken broken = read_partition(body, request.partition)) {
    return broken;
  }
  const auto offset = body.read<std::int64_t>();
  if (!offset) {
    return "the frame ends before fetchOffset";
  }
  if (*offset < 0) {
    return "fetchOffset is negative";
  }
  request.offset = Offset(*offset);
  const auto max_bytes = body.read<std::int32_t>();
  if (!max_bytes) {
    return "the frame ends before maxBytes";
  }
  if (*max_bytes <= 0) {
    return "maxBytes is not positive";
  }
  request.max_bytes = *max_bytes;
  if (version >= 2) {
    if (const Broken broken = read_waiting(body, request)) {
      return broken;
    }
  }
  return check_end(body);
}

Broken decode_metadata(ByteReader body, MetadataRequest& request) {
  const auto count = body.read<std::int32_t>();
  if (!count) {
    return "the frame ends before topicCount";
  }
  if (*count < 0) {
    return "topicCount is negative";
  }
  if (std::int64_t{*count} * kSmallestNameBytes > static_cast<std::int64_t>(body.remaining())) {
    return "topicCount is more than the frame can hold";
  }
  request.topic_count = *count;
  request.names = body.rest();
  for (std::int32_t i = 0; i < *count; ++i) {
    std::string_view name;
    if (const Broken broken = read_topic(body, name)) {
      return broken;
    }
  }
  return check_end(body);
}

bool is_supported(std::int16_t api_key, std::int16_t version) {
  switch (static_cast<ApiKey>(api_key)) {
    case ApiKey::produce:
    case ApiKey::metadata:
      return version == 1;
    case ApiKey::fetch:
      return version == 1 || version == 2;
  }
  return false;
}

}  // namespace

std::expected<Request, Refusal> decode_request(Bytes frame) {
  if (frame.size() < kRequestHeaderBytes) {
    return std::unexpected(Refusal{.reason = "the frame is too short for a request header"});
  }
  const auto api_key = load_big_endian<std::int16_t>(frame.data());
  const auto version = load_big_endian<std::int16_t>(frame.data() + 2);
  Request request{.correlation_id = load_big_endian<std::int32_t>(frame.data() + 4), .body = {}};
  if (!is_supported(api_key, version)) {
    return std::unexpected(Refusal{.correlation_id = request.correlation_id,
                                   .error = WireError::unsupported_version,
                                   .reason = "no such apiKey and apiVersion"});
  }
  const ByteReader body(frame.subspan(kRequestHeaderBytes));
  bool silenced = false;
  Broken broken = nullptr;
  switch (static_cast<ApiKey>(api_key)) {
    case ApiKey::produce:
      broken = decode_produce(body, request.body.emplace<ProduceRequest>(), silenced);
      break;
    case ApiKey::fetch:
      broken = decode_fetch(body, version, request.body.emplace<FetchRequest>());
      break;
    case ApiKey::metadata:
      broken = decode_metadata(body, request.body.emplace<MetadataRequest>());
      break;
  }
  if (broken != nullptr) {
    return std::unexpected(
        Refusal{.correlation_id = request.correlation_id, .answered = !silenced, .reason = broken});
  }
  return request;
}

FrameView peek_frame(Bytes received) {
  FrameView view;
  if (received.size() < kFrameLengthBytes) {
    return view;
  }
  view.length = load_big_endian<std::int32_t>(received.data());
  if (view.length <= 0 || view.length > kMaxFrameBytes) {
    view.status = FrameStatus::bad_length;
    return view;
  }
  const Bytes behind_length = received.subspan(kFrameLengthBytes);
  const auto length = static_cast<std::size_t>(view.length);
  if (behind_length.size() >= length) {
    view.status = FrameStatus::complete;
    view.frame = behind_length.first(length);
  }
  return view;
}

}  // namespace booblik::wire
