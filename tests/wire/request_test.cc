#include "wire/request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hex.h"
#include "wire/request_encoder.h"

namespace booblik::wire {
namespace {

// apiKey, apiVersion, correlationId 0x01020304; then topic "t" and partition 5.
constexpr const char* kProduceHead = "0001 0001 01020304  0001 74  00000005 ";
constexpr const char* kFetchHead = "0002 0001 01020304  0001 74  00000005 ";
constexpr const char* kFetch2Head = "0002 0002 01020304  0001 74  00000005 ";
constexpr const char* kMetadataHead = "0003 0001 01020304 ";

Refusal refusal_of(const std::string& hex) {
  const auto frame = from_hex(hex);
  const auto decoded = decode_request(frame);
  EXPECT_FALSE(decoded.has_value()) << hex;
  return decoded ? Refusal{.reason = "none"} : decoded.error();
}

void expect_corrupt(const std::string& hex, bool answered = true) {
  const Refusal refusal = refusal_of(hex);
  EXPECT_EQ(refusal.error, WireError::corrupt_request) << hex;
  EXPECT_EQ(refusal.correlation_id, 0x01020304) << hex;
  EXPECT_EQ(refusal.answered, answered) << hex << ": " << refusal.reason;
  EXPECT_STRNE(refusal.reason, "");
}

TEST(PeekFrame, TellsIncompleteCompleteAndBadLengths) {
  EXPECT_EQ(peek_frame(from_hex("")).status, FrameStatus::incomplete);
  EXPECT_EQ(peek_frame(from_hex("000000")).status, FrameStatus::incomplete);
  const auto bytes = from_hex("00000003 AABBCC DD");
  EXPECT_EQ(peek_frame(bytes).status, FrameStatus::complete);
  EXPECT_EQ(to_hex(peek_frame(bytes).frame), "aabbcc");
  const auto part = peek_frame(from_hex("00000003 AABB"));
  EXPECT_EQ(part.status, FrameStatus::incomplete);
  EXPECT_EQ(part.length, 3);
  EXPECT_EQ(peek_frame(from_hex("00000000")).status, FrameStatus::bad_length);
  EXPECT_EQ(peek_frame(from_hex("FFFFFFFF")).status, FrameStatus::bad_length);
  EXPECT_EQ(peek_frame(from_hex("80000000")).status, FrameStatus::bad_length);
  EXPECT_EQ(peek_frame(from_hex("00800001")).status, FrameStatus::bad_length);
  EXPECT_EQ(peek_frame(from_hex("00800000")).status, FrameStatus::incomplete);
}

TEST(DecodeRequest, AFrameWithoutAHeaderIsCorruptWithCorrelationZero) {
  for (const char* hex : {"00", "0001", "0001 0001", "0001 0001 010203", "FFFF FFFF FFFFFF"}) {
    const Refusal refusal = refusal_of(hex);
    EXPECT_EQ(refusal.error, WireError::corrupt_request);
    EXPECT_EQ(refusal.correlation_id, 0);
    EXPECT_TRUE(refusal.answered);
  }
}

TEST(DecodeRequest, ApiKeyAndVersionAreCheckedBeforeTheBody) {
  for (const char* hex : {"0000 0001", "0004 0001", "FFFF 0001", "0001 0000", "0001 0002", "0002 0000",
                          "0002 0003", "0003 0000", "0003 0002", "0001 FFFF", "0101 0001", "0001 0101"}) {
    const Refusal refusal = refusal_of(std::string(hex) + "80000001 FF");
    EXPECT_EQ(refusal.error, WireError::unsupported_version) << hex;
    EXPECT_EQ(refusal.correlation_id, INT32_MIN + 1);
    EXPECT_TRUE(refusal.answered);
  }
}

TEST(DecodeProduce, ReadsEveryFieldInPlace) {
  const auto frame = from_hex(std::string(kProduceHead) + "02 00000002 00000003 616263 00000001 FF");
  const auto request = decode_request(frame);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->correlation_id, 0x01020304);
  const auto& produce = std::get<ProduceRequest>(request->body);
  EXPECT_EQ(produce.topic, "t");
  EXPECT_EQ(produce.partition, PartitionId(5));
  EXPECT_EQ(produce.acks, AckPolicy::forced);
  EXPECT_EQ(produce.records.count(), 2);
  EXPECT_EQ(produce.records.largest_payload(), 3);
  EXPECT_EQ(produce.records.bytes_on_disk(), 8 + 3 + 8 + 1);
  std::vector<std::string> payloads;
  for (const Bytes payload : produce.records) {
    EXPECT_GE(payload.data(), frame.data());
    EXPECT_LE(payload.data() + payload.size(), frame.data() + frame.size());
    payloads.push_back(to_hex(payload));
  }
  EXPECT_EQ(payloads, (std::vector<std::string>{"616263", "ff"}));
}

TEST(DecodeProduce, RefusesEachBrokenField) {
  const std::string head = "0001 0001 01020304 ";
  expect_corrupt(head);  // no topic length
  expect_corrupt(head + "00");
  expect_corrupt(head + "0000 00000005 01 00000001 00000001 61");     // empty topic
  expect_corrupt(head + "0002 74");                                   // topic longer than the frame
  expect_corrupt(head + "0001 20 00000005 01 00000001 00000001 61");  // a space
  expect_corrupt(head + "0001 FF 00000005 01 00000001 00000001 61");  // not UTF-8
  expect_corrupt(head + "0001 74 000000");                            // partitionId cut
  expect_corrupt(head + "0001 74 FFFFFFFF 01 00000001 00000001 61");  // partitionId -1
  expect_corrupt(head + "0001 74 80000000 01 00000001 00000001 61");
  expect_corrupt(kProduceHead);  // no ackPolicy
  expect_corrupt(std::string(kProduceHead) + "03 00000001 00000001 61");
  expect_corrupt(std::string(kProduceHead) + "FF 00000001 00000001 61");
  expect_corrupt(std::string(kProduceHead) + "01");  // no recordCount
  expect_corrupt(std::string(kProduceHead) + "01 00000000");
  expect_corrupt(std::string(kProduceHead) + "01 FFFFFFFF 00000001 61");
  expect_corrupt(std::string(kProduceHead) + "01 00000002 00000001 61");  // one record short
  expect_corrupt(std::string(kProduceHead) + "01 7FFFFFFF 00000001 61");  // never sized from
  expect_corrupt(std::string(kProduceHead) + "01 00000001 00000000");     // empty record
  expect_corrupt(std::string(kProduceHead) + "01 00000002 00000001 61 00000000 61");
  expect_corrupt(std::string(kProduceHead) + "01 00000001 FFFFFFFF 61");
  expect_corrupt(std::string(kProduceHead) + "01 00000001 7FFFFFFF 61");
  expect_corrupt(std::string(kProduceHead) + "01 00000001 00000002 61");
  expect_corrupt(std::string(kProduceHead) + "01 00000001 00000001 61 00");  // bytes left over
}

TEST(DecodeProduce, IsSilentOnlyBehindAnAckPolicyOfNone) {
  expect_corrupt(std::string(kProduceHead) + "00", false);
  expect_corrupt(std::string(kProduceHead) + "00 00000000", false);
  expect_corrupt(std::string(kProduceHead) + "00 00000001 00000000", false);
  expect_corrupt(std::string(kProduceHead) + "00 00000001 00000002 61", false);
  expect_corrupt(std::string(kProduceHead) + "00 00000001 00000001 61 00", false);
  // The rule that breaks lies before the byte: answered, whatever the byte says.
  expect_corrupt("0001 0001 01020304  0001 74  FFFFFFFF 00 00000001 00000001 61");
  expect_corrupt("0001 0001 01020304  0001 20  00000005 00 00000001 00000001 61");
  // An ackPolicy that does not exist asks for nothing.
  expect_corrupt(std::string(kProduceHead) + "03 00000000");
  expect_corrupt(std::string(kProduceHead) + "80 00000000");
}

TEST(DecodeFetch, ReadsBothVersions) {
  auto frame = from_hex(std::string(kFetchHead) + "00000000 00000009 00001000");
  auto request = decode_request(frame);
  ASSERT_TRUE(request.has_value());
  auto fetch = std::get<FetchRequest>(request->body);
  EXPECT_EQ(fetch.topic, "t");
  EXPECT_EQ(fetch.partition, PartitionId(5));
  EXPECT_EQ(fetch.offset, Offset(9));
  EXPECT_EQ(fetch.max_bytes, 4096);
  EXPECT_EQ(fetch.max_wait.count(), 0);
  EXPECT_EQ(fetch.min_bytes, 0);

  frame = from_hex(std::string(kFetch2Head) + "7FFFFFFFFFFFFFFF 00001000 000003E8 00001000");
  request = decode_request(frame);
  ASSERT_TRUE(request.has_value());
  fetch = std::get<FetchRequest>(request->body);
  EXPECT_EQ(fetch.offset, Offset(INT64_MAX));
  EXPECT_EQ(fetch.max_wait.count(), 1000);
  EXPECT_EQ(fetch.min_bytes, 4096);
}

TEST(DecodeFetch, ClampsTheWait) {
  const auto frame = from_hex(std::string(kFetch2Head) + "0000000000000000 00000001 7FFFFFFF 00000001");
  const auto request = decode_request(frame);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(std::get<FetchRequest>(request->body).max_wait.count(), kMaxFetchWaitMillis);
}

TEST(DecodeFetch, RefusesEachBrokenField) {
  const std::string v1 = kFetchHead;
  const std::string v2 = std::string(kFetch2Head) + "0000000000000000 00000010 ";
  expect_corrupt(v1 + "00000000000000");             // fetchOffset cut
  expect_corrupt(v1 + "FFFFFFFFFFFFFFFF 00000001");  // fetchOffset -1
  expect_corrupt(v1 + "0000000000000000 000000");    // maxBytes cut
  expect_corrupt(v1 + "0000000000000000 00000000");
  expect_corrupt(v1 + "0000000000000000 FFFFFFFF");
  expect_corrupt(v1 + "0000000000000000 00000001 00");                 // bytes left over
  expect_corrupt(v1 + "0000000000000000 00000001 00000000 00000000");  // the fields of v2
  expect_corrupt(v2);                                                  // a v1 body in a v2 frame
  expect_corrupt(v2 + "FFFFFFFF 00000000");
  expect_corrupt(v2 + "00000000");
  expect_corrupt(v2 + "00000000 FFFFFFFF");
  expect_corrupt(v2 + "00000000 00000011");  // minBytes above maxBytes
  expect_corrupt(v2 + "00000000 00000010 00");
}

TEST(DecodeMetadata, ReadsNamesInOrderWithRepetitions) {
  const auto frame = from_hex(std::string(kMetadataHead) + "00000003 0001 62 0002 6161 0001 62");
  const auto request = decode_request(frame);
  ASSERT_TRUE(request.has_value());
  const auto& metadata = std::get<MetadataRequest>(request->body);
  EXPECT_EQ(metadata.topic_count, 3);
  std::vector<std::string> names;
  metadata.for_each_name([&names](std::string_view name) {
    names.emplace_back(name);
    return true;
  });
  EXPECT_EQ(names, (std::vector<std::string>{"b", "aa", "b"}));
  names.clear();
  metadata.for_each_name([&names](std::string_view name) {
    names.emplace_back(name);
    return false;
  });
  EXPECT_EQ(names, (std::vector<std::string>{"b"}));
}

TEST(DecodeMetadata, NoNamesMeansAll) {
  const auto frame = from_hex(std::string(kMetadataHead) + "00000000");
  const auto request = decode_request(frame);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(std::get<MetadataRequest>(request->body).topic_count, 0);
  std::get<MetadataRequest>(request->body).for_each_name([](std::string_view) {
    ADD_FAILURE() << "a name that nobody asked for";
    return true;
  });
}

TEST(DecodeMetadata, RefusesEachBrokenField) {
  const std::string head = kMetadataHead;
  expect_corrupt(head);
  expect_corrupt(head + "000000");
  expect_corrupt(head + "FFFFFFFF");
  expect_corrupt(head + "7FFFFFFF 0001 61");
  expect_corrupt(head + "00000002 0001 61 00");
  expect_corrupt(head + "00000001 0000");
  expect_corrupt(head + "00000001 0002 61");
  expect_corrupt(head + "00000001 0001 2F");
  expect_corrupt(head + "00000001 0001 61 00");
  expect_corrupt(head + "00000000 00");
}

TEST(EncodeRequest, WritesTheGoldenFrames) {
  std::vector<std::byte> out;
  const auto abc = from_hex("616263");
  const auto ff = from_hex("FF");
  const std::vector<Bytes> payloads{abc, ff};
  encode_produce(out, 0x01020304, "t", PartitionId(5), AckPolicy::forced, payloads);
  EXPECT_EQ(to_hex(out), squeeze("00000020 0001 0001 01020304 0001 74 00000005 02 00000002"
                                 "00000003 616263 00000001 FF"));
  out.clear();
  encode_fetch(out, -1, "t", PartitionId(0), Offset(9), 4096, std::chrono::milliseconds(0), 0);
  EXPECT_EQ(to_hex(out), squeeze("0000001B 0002 0001 FFFFFFFF 0001 74 00000000 0000000000000009 00001000"));
  out.clear();
  encode_fetch(out, 7, "t", PartitionId(0), Offset(9), 4096, std::chrono::milliseconds(500), 1);
  EXPECT_EQ(to_hex(out), squeeze("00000023 0002 0002 00000007 0001 74 00000000 0000000000000009 00001000"
                                 "000001F4 00000001"));
  out.clear();
  const std::vector<std::string_view> topics{"a", "я"};
  encode_metadata(out, 1, topics);
  EXPECT_EQ(to_hex(out), squeeze("00000013 0003 0001 00000001 00000002 0001 61 0002 D18F"));
  encode_metadata(out, 2, {});  // appends
  EXPECT_EQ(to_hex(Bytes(out).subspan(23)), squeeze("0000000C 0003 0001 00000002 00000000"));
}

TEST(ProduceFrame, IsReusedAndKnowsItsRoom) {
  ProduceFrame frame("t", PartitionId(1), AckPolicy::written);
  const std::vector<std::byte> largest(frame.payload_bytes_max(), std::byte{'x'});
  EXPECT_TRUE(frame.fits(largest.size()));
  EXPECT_FALSE(frame.fits(largest.size() + 1));
  frame.add(largest);
  EXPECT_FALSE(frame.fits(0));
  EXPECT_EQ(frame.size(), 4U + kMaxFrameBytes);
  const Bytes whole = frame.finish(1);
  ASSERT_EQ(peek_frame(whole).status, FrameStatus::complete);
  ASSERT_TRUE(decode_request(peek_frame(whole).frame).has_value());
  frame.clear(PartitionId(2));
  EXPECT_EQ(frame.count(), 0);
  frame.add(as_bytes("y"));
  EXPECT_EQ(to_hex(frame.finish(2)),
            squeeze("00000019 0001 0001 00000002 0001 74 00000002 01 00000001 00000001 79"));
}

}  // namespace
}  // namespace booblik::wire
