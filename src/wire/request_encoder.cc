#include "wire/request_encoder.h"

#include <utility>

#include "base/check.h"
#include "wire/topic_name.h"

namespace booblik::wire {
namespace {

// From partitionId to the first record: partitionId, ackPolicy, recordCount.
constexpr std::size_t kPartitionBeforeRecords = 4 + 1 + 4;

constexpr std::size_t kWholeFrameBytesMax = std::size_t{kFrameLengthBytes} + kMaxFrameBytes;

template <std::integral T>
void append_big_endian(std::vector<std::byte>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  store_big_endian(out.data() + at, value);
}

void append_bytes(std::vector<std::byte>& out, Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_topic(std::vector<std::byte>& out, std::string_view topic) {
  BOOBLIK_CHECK(is_valid_topic_name(topic), "a request names a valid topic");
  append_big_endian(out, static_cast<std::uint16_t>(topic.size()));
  append_bytes(out, as_bytes(topic));
}

void append_partition(std::vector<std::byte>& out, PartitionId partition) {
  BOOBLIK_CHECK(partition.value() >= 0, "partitions are numbered from 0");
  append_big_endian(out, partition.value());
}

// Everything up to the body, with room for the length; end_frame fills it in.
std::size_t begin_frame(std::vector<std::byte>& out, ApiKey api, std::int16_t version,
                        std::int32_t correlation_id) {
  const std::size_t start = out.size();
  append_big_endian(out, std::int32_t{0});
  append_big_endian(out, std::to_underlying(api));
  append_big_endian(out, version);
  append_big_endian(out, correlation_id);
  return start;
}

void end_frame(std::vector<std::byte>& out, std::size_t start) {
  const std::size_t whole = out.size() - start;
  BOOBLIK_CHECK(whole <= kWholeFrameBytesMax, "a request frame has at most 8 MiB");
  store_big_endian(out.data() + start, static_cast<std::int32_t>(whole) - kFrameLengthBytes);
}

}  // namespace

void encode_produce(std::vector<std::byte>& out, std::int32_t correlation_id, std::string_view topic,
                    PartitionId partition, AckPolicy acks, std::span<const Bytes> payloads) {
  ProduceFrame frame(topic, partition, acks);
  for (const Bytes payload : payloads) {
    frame.add(payload);
  }
  append_bytes(out, frame.finish(correlation_id));
}

void encode_fetch(std::vector<std::byte>& out, std::int32_t correlation_id, std::string_view topic,
                  PartitionId partition, Offset offset, std::int32_t max_bytes,
                  std::chrono::milliseconds max_wait, std::int32_t min_bytes) {
  BOOBLIK_CHECK(offset.value() >= 0, "a fetch starts at an offset of at least 0");
  BOOBLIK_CHECK(max_bytes > 0, "a fetch asks for at least one byte");
  BOOBLIK_CHECK(min_bytes >= 0 && min_bytes <= max_bytes, "minBytes lies between 0 and maxBytes");
  BOOBLIK_CHECK(max_wait.count() >= 0 && std::in_range<std::int32_t>(max_wait.count()),
                "maxWaitMillis is a positive int32");
  const bool waits = max_wait.count() != 0 || min_bytes != 0;
  const std::size_t start = begin_frame(out, ApiKey::fetch, waits ? 2 : 1, correlation_id);
  append_topic(out, topic);
  append_partition(out, partition);
  append_big_endian(out, offset.value());
  append_big_endian(out, max_bytes);
  if (waits) {
    append_big_endian(out, static_cast<std::int32_t>(max_wait.count()));
    append_big_endian(out, min_bytes);
  }
  end_frame(out, start);
}

void encode_metadata(std::vector<std::byte>& out, std::int32_t correlation_id,
                     std::span<const std::string_view> topics) {
  const std::size_t start = begin_frame(out, ApiKey::metadata, 1, correlation_id);
  append_big_endian(out, static_cast<std::int32_t>(topics.size()));
  for (const std::string_view topic : topics) {
    append_topic(out, topic);
  }
  end_frame(out, start);
}

ProduceFrame::ProduceFrame(std::string_view topic, PartitionId partition, AckPolicy acks) {
  begin_frame(bytes_, ApiKey::produce, 1, 0);
  append_topic(bytes_, topic);
  append_partition(bytes_, partition);
  append_big_endian(bytes_, std::to_underlying(acks));
  append_big_endian(bytes_, std::int32_t{0});
  records_at_ = bytes_.size();
}

std::size_t ProduceFrame::payload_bytes_max() const {
  return kWholeFrameBytesMax - records_at_ - sizeof(std::int32_t);
}

bool ProduceFrame::fits(std::size_t payload_bytes) const {
  const std::size_t left = kWholeFrameBytesMax - bytes_.size();
  return left >= sizeof(std::int32_t) && payload_bytes <= left - sizeof(std::int32_t);
}

void ProduceFrame::add(Bytes payload) {
  BOOBLIK_CHECK(!payload.empty(), "the protocol has no empty records");
  BOOBLIK_CHECK(fits(payload.size()), "a request frame has at most 8 MiB");
  append_big_endian(bytes_, static_cast<std::int32_t>(payload.size()));
  append_bytes(bytes_, payload);
  ++count_;
}

Bytes ProduceFrame::finish(std::int32_t correlation_id) {
  BOOBLIK_CHECK(count_ > 0, "the protocol has no empty batches");
  store_big_endian(bytes_.data() + 8, correlation_id);
  store_big_endian(bytes_.data() + records_at_ - sizeof count_, count_);
  end_frame(bytes_, 0);
  return bytes_;
}

void ProduceFrame::clear(PartitionId partition) {
  BOOBLIK_CHECK(partition.value() >= 0, "partitions are numbered from 0");
  bytes_.resize(records_at_);
  store_big_endian(bytes_.data() + records_at_ - kPartitionBeforeRecords, partition.value());
  count_ = 0;
}

}  // namespace booblik::wire
