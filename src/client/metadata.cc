#include "client/metadata.h"

#include <fmt/format.h>

#include "wire/request_encoder.h"
#include "wire/topic_name.h"

namespace booblik::client {

Outcome<std::vector<wire::TopicMetadata>> ask_metadata(Connection& connection,
                                                       std::span<const std::string_view> topics,
                                                       Deadline deadline) {
  std::size_t bytes = wire::kRequestHeaderBytes + sizeof(std::int32_t);
  for (const std::string_view topic : topics) {
    bytes += sizeof(std::uint16_t) + topic.size();
    if (const auto valid = wire::check_topic_name(topic); !valid) {
      return failed(FailureKind::invalid, valid.error().message);
    }
  }
  if (bytes > wire::kMaxFrameBytes) {
    return failed(FailureKind::invalid, fmt::format("{} topic names do not fit one request", topics.size()));
  }
  std::vector<std::byte> frame;
  const std::int32_t id = connection.next_correlation_id();
  wire::encode_metadata(frame, id, topics);
  const auto answer = connection.call(frame, id, deadline);
  if (!answer) {
    return std::unexpected(answer.error());
  }
  if (answer->error != wire::WireError::none) {
    return refused(topics.size() == 1 ? fmt::format("topic '{}'", topics.front()) : "METADATA",
                   answer->error);
  }
  auto decoded = wire::decode_metadata_response(answer->frame);
  if (!decoded) {
    return failed(FailureKind::bad_answer, fmt::format("METADATA: {}", decoded.error().reason));
  }
  return std::move(*decoded);
}

Outcome<wire::TopicMetadata> ask_topic(Connection& connection, std::string_view topic, Deadline deadline) {
  auto topics = ask_metadata(connection, {&topic, 1}, deadline);
  if (!topics) {
    return std::unexpected(std::move(topics.error()));
  }
  if (topics->size() != 1 || topics->front().name != topic || topics->front().partitions.empty()) {
    return failed(FailureKind::bad_answer,
                  fmt::format("METADATA for topic '{}' does not describe it", topic));
  }
  std::int32_t expected = 0;
  for (const wire::PartitionMetadata& partition : topics->front().partitions) {
    if (partition.partition != PartitionId(expected++)) {
      return failed(FailureKind::bad_answer, fmt::format("METADATA for topic '{}' has holes", topic));
    }
  }
  return std::move(topics->front());
}

}  // namespace booblik::client
