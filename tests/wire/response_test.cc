#include "wire/response.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "hex.h"

namespace booblik::wire {
namespace {

// correlationId and errorCode 0.
constexpr const char* kHead = "00000007 0000 ";

std::vector<std::byte> frame_of(const std::string& body) {
  return from_hex(kHead + body);
}

TEST(EncodeResponse, WritesTheGoldenFrames) {
  std::vector<std::byte> out(64, std::byte{0xEE});  // what is behind an answer stays as it was
  EXPECT_EQ(put_error_response(out.data(), 7, WireError::corrupt_request), kErrorResponseBytes);
  EXPECT_EQ(to_hex(Bytes(out).first(11)), squeeze("00000006 00000007 0005 EE"));
  EXPECT_EQ(put_produce_response(out.data(), -1, Offset(3), Offset(5)), kProduceResponseBytes);
  EXPECT_EQ(to_hex(Bytes(out).first(27)),
            squeeze("00000016 FFFFFFFF 0000 0000000000000003 0000000000000005 EE"));
  out.assign(64, std::byte{0xEE});
  EXPECT_EQ(put_fetch_response_header(out.data(), 7, Offset(9), 258), kFetchResponseHeaderBytes);
  EXPECT_EQ(to_hex(Bytes(out).first(23)), squeeze("00000114 00000007 0000 0000000000000009 00000102 EE"));
}

TEST(EncodeResponse, TheLargestFetchFillsTheFrameExactly) {
  std::vector<std::byte> out(kFetchResponseHeaderBytes);
  put_fetch_response_header(out.data(), 1, Offset(0), kMaxFetchPayloadBytes);
  EXPECT_EQ(load_big_endian<std::int32_t>(out.data()), kMaxFrameBytes);
}

TEST(EncodeResponse, MetadataPiecesMakeOneFrame) {
  std::vector<std::byte> out;
  const auto body =
      static_cast<std::int32_t>(kMetadataFixedBytes + kMetadataTopicBytes + 2 + kMetadataPartitionBytes);
  append_metadata_header(out, 7, body, 1);
  append_metadata_topic(out, "я", 1);
  append_metadata_partition(out, PartitionId(0), Offset(2), Offset(300));
  EXPECT_EQ(to_hex(out), squeeze("00000026 00000007 0000 00000001 0002 D18F 00000001"
                                 "00000000 0000000000000002 000000000000012C"));
  EXPECT_EQ(load_big_endian<std::int32_t>(out.data()) + 4, static_cast<std::int32_t>(out.size()));
}

TEST(DecodeResponse, ReadsTheHeaderAndRefusesWhatNoBrokerSends) {
  const auto error = decode_response_header(from_hex("00000007 0002"));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->correlation_id, 7);
  EXPECT_EQ(error->error, WireError::offset_out_of_range);
  for (const char* hex :
       {"", "00000007", "00000007 00", "00000007 0006", "00000007 FFFF", "00000007 0001 00"}) {
    EXPECT_FALSE(decode_response_header(from_hex(hex)).has_value()) << hex;
  }
}

TEST(DecodeResponse, ProduceHasExactlySixteenBytesAndARange) {
  const auto answer = decode_produce_response(frame_of("0000000000000003 0000000000000005"));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->base_offset, Offset(3));
  EXPECT_EQ(answer->log_end_offset, Offset(5));
  for (const char* body : {"", "0000000000000003 00000000000000", "0000000000000003 0000000000000005 00",
                           "FFFFFFFFFFFFFFFF 0000000000000005", "0000000000000003 0000000000000003"}) {
    EXPECT_FALSE(decode_produce_response(frame_of(body)).has_value()) << body;
  }
  EXPECT_FALSE(decode_produce_response(from_hex("00000007 0001")).has_value());
}

TEST(DecodeResponse, FetchPayloadIsTheRestOfTheFrame) {
  const auto frame = frame_of("0000000000000009 00000003 AABBCC");
  const auto answer = decode_fetch_response(frame);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->high_watermark, Offset(9));
  EXPECT_EQ(answer->payload.data(), frame.data() + 18);
  EXPECT_EQ(to_hex(answer->payload), "aabbcc");
  EXPECT_TRUE(decode_fetch_response(frame_of("0000000000000009 00000000")).has_value());
  for (const char* body :
       {"", "0000000000000009", "0000000000000009 00000001", "0000000000000009 00000001 AABB",
        "0000000000000009 FFFFFFFF AA", "FFFFFFFFFFFFFFFF 00000001 AA"}) {
    EXPECT_FALSE(decode_fetch_response(frame_of(body)).has_value()) << body;
  }
}

TEST(DecodeResponse, MetadataIsReadWholeOrRefused) {
  const std::string topic =
      "0001 61 00000002 00000000 0000000000000000 0000000000000004"
      "00000001 0000000000000002 0000000000000002 ";
  const auto topics = decode_metadata_response(frame_of("00000001" + topic));
  ASSERT_TRUE(topics.has_value());
  EXPECT_EQ(*topics,
            (std::vector<TopicMetadata>{
                {"a", {{PartitionId(0), Offset(0), Offset(4)}, {PartitionId(1), Offset(2), Offset(2)}}}}));
  EXPECT_TRUE(decode_metadata_response(frame_of("00000000"))->empty());
  for (const std::string& body :
       {std::string(), std::string("FFFFFFFF"), "7FFFFFFF" + topic, "00000002" + topic,
        "00000001" + topic + "00", std::string("00000001 0000 00000000"),
        std::string("00000001 0001 20 00000000"), std::string("00000001 0001 61 FFFFFFFF"),
        std::string("00000001 0001 61 7FFFFFFF 00"),
        std::string("00000001 0001 61 00000001 FFFFFFFF 0000000000000000 0000000000000004"),
        std::string("00000001 0001 61 00000001 00000000 FFFFFFFFFFFFFFFF 0000000000000004"),
        std::string("00000001 0001 61 00000001 00000000 0000000000000005 0000000000000004")}) {
    EXPECT_FALSE(decode_metadata_response(frame_of(body)).has_value()) << body;
  }
}

struct Kind {
  const char* body;
  bool (*decodes)(Bytes);
};

constexpr Kind kKinds[] = {
    {"0000000000000003 0000000000000005",
     [](Bytes frame) { return decode_produce_response(frame).has_value(); }},
    {"0000000000000009 00000003 AABBCC",
     [](Bytes frame) { return decode_fetch_response(frame).has_value(); }},
    {"00000001 0001 61 00000001 00000000 0000000000000000 0000000000000004",
     [](Bytes frame) { return decode_metadata_response(frame).has_value(); }},
};

// In a block of exactly the input's size, so that a sanitizer sees a read beyond it.
bool decodes(const Kind& kind, const std::vector<std::byte>& frame) {
  const auto exact = std::make_unique<std::byte[]>(frame.size());
  std::copy(frame.begin(), frame.end(), exact.get());
  return kind.decodes(Bytes(exact.get(), frame.size()));
}

TEST(DecodeResponse, RefusesEveryTruncationAndTrailingBytes) {
  for (const Kind& kind : kKinds) {
    const auto frame = frame_of(kind.body);
    EXPECT_TRUE(decodes(kind, frame));
    for (std::size_t size = 0; size < frame.size(); ++size) {
      EXPECT_FALSE(decodes(kind, {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size)}));
    }
    auto longer = frame;
    for (int extra = 0; extra < 16; ++extra) {
      longer.push_back(std::byte{0});
      EXPECT_FALSE(decodes(kind, longer));
    }
  }
}

TEST(DecodeResponse, SurvivesEveryByteReplaced) {
  for (const Kind& kind : kKinds) {
    const auto frame = frame_of(kind.body);
    int taken = 0;
    for (std::size_t i = 0; i < frame.size(); ++i) {
      for (int value = 0; value < 256; ++value) {
        auto changed = frame;
        changed[i] = static_cast<std::byte>(value);
        taken += decodes(kind, changed) ? 1 : 0;
      }
    }
    EXPECT_GT(taken, 0);
  }
}

}  // namespace
}  // namespace booblik::wire
