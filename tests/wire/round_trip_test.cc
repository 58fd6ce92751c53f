#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "wire/request.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::wire {
namespace {

rc::Gen<std::string> any_topic() {
  const auto piece = rc::gen::element<std::string>("a", "Z", "0", ".", "_", "-", "я", "注", "٣", "𝐀");
  return rc::gen::map(rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(piece)),
                      [](const std::vector<std::string>& pieces) {
                        std::string topic;
                        for (const std::string& next : pieces) {
                          if (topic.size() + next.size() <= kMaxTopicNameBytes) {
                            topic += next;
                          }
                        }
                        return topic;
                      });
}

std::int32_t any_natural() {
  return *rc::gen::inRange<std::int32_t>(0, std::numeric_limits<std::int32_t>::max());
}
std::int64_t any_offset() {
  return *rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
}

Request decoded(Bytes bytes) {
  const auto view = peek_frame(bytes);
  RC_ASSERT(view.status == FrameStatus::complete);
  RC_ASSERT(view.frame.size() + kFrameLengthBytes == bytes.size());
  const auto request = decode_request(view.frame);
  RC_ASSERT(request.has_value());
  return *request;
}

RC_GTEST_PROP(RoundTrip, Produce, (std::int32_t id)) {
  const auto topic = *any_topic();
  const PartitionId partition(any_natural());
  const auto acks = *rc::gen::element(AckPolicy::none, AckPolicy::written, AckPolicy::forced);
  const auto payloads = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(rc::gen::arbitrary<std::string>())));
  std::vector<Bytes> views;
  for (const std::string& payload : payloads) {
    views.push_back(as_bytes(payload));
  }
  std::vector<std::byte> out;
  encode_produce(out, id, topic, partition, acks, views);

  const Request request = decoded(out);
  RC_ASSERT(request.correlation_id == id);
  const auto& produce = std::get<ProduceRequest>(request.body);
  RC_ASSERT(produce.topic == topic);
  RC_ASSERT(produce.partition == partition);
  RC_ASSERT(produce.acks == acks);
  std::vector<std::string> back;
  std::size_t largest = 0;
  for (const Bytes payload : produce.records) {
    back.emplace_back(as_text(payload));
    largest = std::max(largest, payload.size());
  }
  RC_ASSERT(back == payloads);
  RC_ASSERT(static_cast<std::size_t>(produce.records.largest_payload()) == largest);
}

RC_GTEST_PROP(RoundTrip, Fetch, (std::int32_t id)) {
  const auto topic = *any_topic();
  const PartitionId partition(any_natural());
  const Offset offset(any_offset());
  const std::int32_t max_bytes = any_natural() + 1;
  const std::chrono::milliseconds max_wait(any_natural());
  const std::int32_t min_bytes = std::min(any_natural(), max_bytes);
  std::vector<std::byte> out;
  encode_fetch(out, id, topic, partition, offset, max_bytes, max_wait, min_bytes);

  const Request request = decoded(out);
  RC_ASSERT(request.correlation_id == id);
  const auto& fetch = std::get<FetchRequest>(request.body);
  RC_ASSERT(fetch.topic == topic);
  RC_ASSERT(fetch.partition == partition);
  RC_ASSERT(fetch.offset == offset);
  RC_ASSERT(fetch.max_bytes == max_bytes);
  RC_ASSERT(fetch.max_wait == std::min(max_wait, std::chrono::milliseconds(kMaxFetchWaitMillis)));
  RC_ASSERT(fetch.min_bytes == min_bytes);
}

RC_GTEST_PROP(RoundTrip, MetadataRequest, (std::int32_t id)) {
  const auto topics = *rc::gen::container<std::vector<std::string>>(any_topic());
  const std::vector<std::string_view> views(topics.begin(), topics.end());
  std::vector<std::byte> out;
  encode_metadata(out, id, views);

  const Request request = decoded(out);
  RC_ASSERT(request.correlation_id == id);
  std::vector<std::string> back;
  std::get<MetadataRequest>(request.body).for_each_name([&back](std::string_view name) {
    back.emplace_back(name);
    return true;
  });
  RC_ASSERT(back == topics);
}

RC_GTEST_PROP(RoundTrip, MetadataResponse, (std::int32_t id)) {
  std::vector<TopicMetadata> topics(*rc::gen::inRange<std::size_t>(0, 5));
  std::int64_t body_bytes = kMetadataFixedBytes;
  for (TopicMetadata& topic : topics) {
    topic.name = *any_topic();
    body_bytes += kMetadataTopicBytes + static_cast<std::int64_t>(topic.name.size());
    topic.partitions.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (PartitionMetadata& partition : topic.partitions) {
      const std::int64_t first = any_offset();
      const std::int64_t second = any_offset();
      partition = {PartitionId(any_natural()), Offset(std::min(first, second)),
                   Offset(std::max(first, second))};
      body_bytes += kMetadataPartitionBytes;
    }
  }
  std::vector<std::byte> out;
  append_metadata_header(out, id, static_cast<std::int32_t>(body_bytes),
                         static_cast<std::int32_t>(topics.size()));
  for (const TopicMetadata& topic : topics) {
    append_metadata_topic(out, topic.name, static_cast<std::int32_t>(topic.partitions.size()));
    for (const PartitionMetadata& partition : topic.partitions) {
      append_metadata_partition(out, partition.partition, partition.log_start, partition.high_watermark);
    }
  }
  const auto view = peek_frame(out);
  RC_ASSERT(view.status == FrameStatus::complete);
  RC_ASSERT(decode_response_header(view.frame)->correlation_id == id);
  const auto back = decode_metadata_response(view.frame);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == topics);
}

RC_GTEST_PROP(RoundTrip, ArbitraryBytesNeverCrash, (const std::vector<std::uint8_t>& raw)) {
  const Bytes bytes = std::as_bytes(std::span(raw));
  (void)peek_frame(bytes);
  if (!bytes.empty()) {
    const auto request = decode_request(bytes);
    RC_ASSERT(request.has_value() || request.error().reason[0] != '\0');
  }
  (void)decode_metadata_response(bytes);
}

}  // namespace
}  // namespace booblik::wire
