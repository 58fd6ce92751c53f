// Whole sessions with valid frames that were damaged: each byte replaced, every truncation, bytes behind the
// end. The broker answers with the right correlation id or closes; it never hangs, and never appends anything
// that was not answered as an append.
#include <algorithm>
#include <chrono>
#include <optional>

#include "broker_world.h"

namespace booblik::broker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Stream = std::vector<std::byte>;

// What a stream should be answered with: one entry for each frame that is complete and not silent.
struct Expected {
  std::int32_t correlation_id = 0;
  std::optional<wire::WireError> error;  // nullopt: whatever the state of the log says
  std::int64_t records = 0;              // of a PRODUCE that is taken
};

struct Expectation {
  std::vector<Expected> answers;
  std::int64_t silent_records = 0;  // taken with ackPolicy NONE
};

// By the decoder, which the tests in tests/wire hold to the contract.
Expectation expectation_of(Bytes stream) {
  Expectation expectation;
  while (true) {
    const wire::FrameView view = wire::peek_frame(stream);
    if (view.status != wire::FrameStatus::complete) {
      return expectation;
    }
    stream = stream.subspan(wire::kFrameLengthBytes + view.frame.size());
    const auto request = wire::decode_request(view.frame);
    if (!request) {
      if (request.error().answered) {
        expectation.answers.push_back({request.error().correlation_id, request.error().error, 0});
      }
      continue;
    }
    Expected expected{request->correlation_id, std::nullopt, 0};
    if (const auto* produce = std::get_if<wire::ProduceRequest>(&request->body)) {
      const bool known = produce->topic == "default" && produce->partition == PartitionId(0);
      expected.error = known ? wire::WireError::none : wire::WireError::unknown_topic_or_partition;
      expected.records = known ? produce->records.count() : 0;
      if (produce->acks == wire::AckPolicy::none) {
        expectation.silent_records += expected.records;
        continue;
      }
    }
    expectation.answers.push_back(expected);
  }
}

std::vector<Stream> valid_streams() {
  std::vector<Stream> streams;
  const std::string one = "one";
  const std::string three = "three";
  const std::vector<Bytes> payloads{as_bytes(one), as_bytes(three)};
  for (const auto acks : {wire::AckPolicy::none, wire::AckPolicy::written, wire::AckPolicy::forced}) {
    wire::encode_produce(streams.emplace_back(), 0x01020304, "default", PartitionId(0), acks, payloads);
  }
  wire::encode_fetch(streams.emplace_back(), 0x01020304, "default", PartitionId(0), Offset(0), 100,
                     milliseconds(0), 0);
  wire::encode_fetch(streams.emplace_back(), 0x01020304, "default", PartitionId(0), Offset(1), 1000,
                     milliseconds(5), 1);
  wire::encode_metadata(streams.emplace_back(), 0x01020304, {});
  const std::vector<std::string_view> names{"default"};
  wire::encode_metadata(streams.emplace_back(), 0x01020304, names);
  return streams;
}

std::vector<Stream> damaged(const Stream& valid) {
  std::vector<Stream> all{valid};
  for (std::size_t at = 0; at < valid.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      Stream changed = valid;
      changed[at] = static_cast<std::byte>(value);
      all.push_back(std::move(changed));
    }
    all.emplace_back(valid.begin(), valid.begin() + static_cast<std::ptrdiff_t>(at));
    // The same cut, in a frame whose length field tells the truth about it.
    if (at >= 4) {
      Stream cut = all.back();
      store_big_endian(cut.data(), static_cast<std::int32_t>(at - 4));
      all.push_back(std::move(cut));
    }
  }
  for (std::size_t extra = 1; extra <= 16; ++extra) {
    Stream longer = valid;
    longer.resize(valid.size() + extra, std::byte{0});
    all.push_back(longer);
    store_big_endian(longer.data(), static_cast<std::int32_t>(longer.size() - 4));
    all.push_back(std::move(longer));
  }
  return all;
}

class SessionExhaustiveTest : public ::testing::Test {
 protected:
  static Options options() {
    Options options;
    options.metrics_every = milliseconds(0);
    return options;
  }

  // One session: the stream, the end, and all that comes back.
  void check(const Stream& stream) {
    const Expectation expectation = expectation_of(stream);
    const auto client = world_.connect();
    // May fail: a frame length that is out of range closes the connection while we still send.
    static_cast<void>(client->send(stream, world_.in(seconds(1))));
    client->shutdown_send();
    for (const Expected& expected : expectation.answers) {
      const auto answer = client->receive_frame(world_.in(seconds(120)));
      ASSERT_TRUE(answer) << answer.error().message;
      ASSERT_NO_FATAL_FAILURE(check_answer(*answer, expected));
    }
    const auto end = client->receive_frame(world_.in(seconds(120)));
    ASSERT_FALSE(end) << "an answer too many";
    ASSERT_TRUE(end.error().code == ErrorCode::closed || end.error().code == ErrorCode::reset)
        << end.error().message;
    log_end_ += expectation.silent_records;
    ++sessions_;
  }

  void check_answer(Bytes answer, const Expected& expected) {
    const auto header = wire::decode_response_header(answer);
    ASSERT_TRUE(header);
    ASSERT_EQ(header->correlation_id, expected.correlation_id);
    if (expected.error) {
      ASSERT_EQ(header->error, *expected.error);
    }
    if (expected.records > 0) {
      const auto produced = wire::decode_produce_response(answer);
      ASSERT_TRUE(produced);
      ASSERT_EQ(produced->base_offset.value(), log_end_);
      log_end_ += expected.records;
      ASSERT_EQ(produced->log_end_offset.value(), log_end_);
    }
  }

  // Nothing else has been appended.
  void check_log_end() {
    Stream request;
    wire::encode_metadata(request, 9, {});
    const auto client = world_.connect();
    ASSERT_TRUE(client->send(request, world_.in(seconds(1))));
    const auto answer = client->receive_frame(world_.in(seconds(1)));
    ASSERT_TRUE(answer);
    const auto metadata = wire::decode_metadata_response(*answer);
    ASSERT_TRUE(metadata);
    ASSERT_EQ(metadata->at(0).partitions.at(0).high_watermark.value(), log_end_);
  }

  BrokerWorld world_{options()};
  std::int64_t log_end_ = 0;
  int sessions_ = 0;
};

TEST_F(SessionExhaustiveTest, DamagedFramesAreAnsweredOrClosed) {
  world_.spawn_client("client", [this] {
    for (const Stream& valid : valid_streams()) {
      ASSERT_FALSE(expectation_of(valid).answers.empty() && expectation_of(valid).silent_records == 0);
      for (const Stream& stream : damaged(valid)) {
        ASSERT_NO_FATAL_FAILURE(check(stream)) << ::testing::PrintToString(stream);
      }
      ASSERT_NO_FATAL_FAILURE(check_log_end());
    }
  });
  world_.run();
  EXPECT_GT(sessions_, 2000);
  EXPECT_GT(log_end_, 0);
}

// Behind a damaged frame whose length is right, the connection serves on, with the right answers.
TEST_F(SessionExhaustiveTest, TheNextRequestOnTheConnectionIsServed) {
  world_.spawn_client("client", [this] {
    Stream next;
    wire::encode_metadata(next, 0x0A0B0C0D, {});
    for (const Stream& valid : valid_streams()) {
      for (Stream stream : damaged(valid)) {
        if (wire::peek_frame(stream).status == wire::FrameStatus::complete &&
            wire::peek_frame(stream).frame.size() + 4 == stream.size()) {
          stream.insert(stream.end(), next.begin(), next.end());
          ASSERT_EQ(expectation_of(stream).answers.back().correlation_id, 0x0A0B0C0D);
          ASSERT_NO_FATAL_FAILURE(check(stream)) << ::testing::PrintToString(stream);
        }
      }
    }
    ASSERT_NO_FATAL_FAILURE(check_log_end());
  });
  world_.run();
}

}  // namespace
}  // namespace booblik::broker
