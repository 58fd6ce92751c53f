// What a client does with an answer, whichever it is waiting for, and with the records in it.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "client/record_splitter.h"
#include "wire/response.h"

namespace booblik::client {
namespace {

void check_produce(Bytes frame) {
  const auto answer = wire::decode_produce_response(frame);
  if (!answer) {
    BOOBLIK_CHECK(std::strlen(answer.error().reason) > 0, "a bad answer has a reason");
    return;
  }
  std::vector<std::byte> out(wire::kProduceResponseBytes);
  const auto id = load_big_endian<std::int32_t>(frame.data());
  wire::put_produce_response(out.data(), id, answer->base_offset, answer->log_end_offset);
  BOOBLIK_CHECK(std::ranges::equal(Bytes(out).subspan(wire::kFrameLengthBytes), frame),
                "it is what was sent");
}

void check_metadata(Bytes frame) {
  const auto topics = wire::decode_metadata_response(frame);
  if (!topics) {
    BOOBLIK_CHECK(std::strlen(topics.error().reason) > 0, "a bad answer has a reason");
    return;
  }
  std::vector<std::byte> out;
  wire::append_metadata_header(out, load_big_endian<std::int32_t>(frame.data()),
                               static_cast<std::int32_t>(frame.size()) - wire::kResponseHeaderBytes,
                               static_cast<std::int32_t>(topics->size()));
  for (const wire::TopicMetadata& topic : *topics) {
    wire::append_metadata_topic(out, topic.name, static_cast<std::int32_t>(topic.partitions.size()));
    for (const wire::PartitionMetadata& partition : topic.partitions) {
      wire::append_metadata_partition(out, partition.partition, partition.log_start,
                                      partition.high_watermark);
    }
  }
  BOOBLIK_CHECK(std::ranges::equal(Bytes(out).subspan(wire::kFrameLengthBytes), frame),
                "it is what was sent");
}

// Records and dropped tail together are the payload; every record keeps its checksum.
void check_records(Bytes payload) {
  std::vector<Record> records;
  const SplitEnd end = split_records(payload, Offset(5), records);
  std::size_t position = 0;
  Offset offset(5);
  for (const Record& record : records) {
    BOOBLIK_CHECK(record.offset == offset, "records are numbered without holes");
    offset += 1;
    BOOBLIK_CHECK(record.value.data() == payload.data() + position + wire::kRecordHeaderBytes,
                  "records lie in a row");
    const auto stored = load_big_endian<std::uint32_t>(payload.data() + position + 4);
    BOOBLIK_CHECK(crc32c(record.value) == stored, "no record is given out with a wrong checksum");
    position += wire::kRecordHeaderBytes + record.value.size();
  }
  BOOBLIK_CHECK(end.next == offset, "the next offset follows the last record");
  BOOBLIK_CHECK(end.corrupt != nullptr || position + end.tail_bytes == payload.size(),
                "nothing is lost in between");
  if (end.tail_record_bytes) {
    const auto whole = static_cast<std::size_t>(*end.tail_record_bytes) + wire::kRecordHeaderBytes;
    BOOBLIK_CHECK(*end.tail_record_bytes > 0 && end.tail_bytes < whole, "a tail is an incomplete record");
  }
}

void check_fetch(Bytes frame) {
  const auto answer = wire::decode_fetch_response(frame);
  if (!answer) {
    BOOBLIK_CHECK(std::strlen(answer.error().reason) > 0, "a bad answer has a reason");
    return;
  }
  BOOBLIK_CHECK(answer->payload.data() + answer->payload.size() == frame.data() + frame.size(),
                "the payload is the rest of the frame");
  check_records(answer->payload);
}

}  // namespace
}  // namespace booblik::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  const Bytes bytes = std::as_bytes(std::span(data, size));
  (void)wire::decode_response_header(bytes);
  client::check_produce(bytes);
  client::check_metadata(bytes);
  client::check_fetch(bytes);
  client::check_records(bytes);
  return 0;
}
