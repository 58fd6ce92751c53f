#include "client/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../wire/hex.h"
#include "fake_broker.h"
#include "virtual_world.h"
#include "wire/request_encoder.h"

namespace booblik::client {
namespace {

using Then = FakeBroker::Fault::Then;

class ConnectionTest : public testing::Test {
 protected:
  // Runs `body` with a connection to the fake broker.
  void with_connection(std::move_only_function<void(Connection&, FakeBroker&)> body) {
    EXPECT_TRUE(world.scheduler.run([&] {
      FakeBroker broker(world.roles);
      broker.add("t", 0);
      auto connection = Connection::open(world.network, broker.address(), in_a_second());
      ASSERT_TRUE(connection.has_value());
      body(**connection, broker);
    }));
  }

  Deadline in_a_second() { return Deadline(world.scheduler.now() + std::chrono::seconds(1)); }

  Outcome<void> send_metadata(Connection& connection) {
    std::vector<std::byte> frame;
    const std::int32_t id = connection.next_correlation_id();
    wire::encode_metadata(frame, id, {});
    return connection.send(frame, id, in_a_second());
  }

  // The failure of a request that is answered by `hex` and then `then`.
  Failure failure_after(const std::string& hex, Then then) {
    Failure failure{};
    with_connection([&](Connection& connection, FakeBroker& broker) {
      broker.fault = [&](const wire::Request&, int) { return FakeBroker::Fault{from_hex(hex), then}; };
      EXPECT_TRUE(send_metadata(connection).has_value());
      auto answer = connection.receive(in_a_second());
      EXPECT_FALSE(answer.has_value()) << hex;
      if (!answer) {
        failure = answer.error();
        if (failure.kind != FailureKind::timed_out) {
          EXPECT_FALSE(send_metadata(connection).has_value());  // final
        }
      }
    });
    return failure;
  }

  VirtualWorld world;
};

TEST_F(ConnectionTest, MatchesPipelinedAnswersInOrderHoweverTheyAreCut) {
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 7U, 11U, 1000U}) {
    world.network.limits.piece_bytes = piece;
    with_connection([&](Connection& connection, FakeBroker&) {
      for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(send_metadata(connection).has_value());
      }
      EXPECT_EQ(connection.outstanding(), 50U);
      for (std::int32_t id = 1; id <= 50; ++id) {
        const auto answer = connection.receive(in_a_second());
        ASSERT_TRUE(answer.has_value()) << answer.error().message;
        EXPECT_EQ(answer->correlation_id, id);
        EXPECT_EQ(answer->error, wire::WireError::none);
        EXPECT_EQ(wire::decode_metadata_response(answer->frame)->front().name, "t");
      }
      EXPECT_EQ(connection.outstanding(), 0U);
    });
  }
}

TEST_F(ConnectionTest, AnErrorCodeIsAnAnswer) {
  with_connection([&](Connection& connection, FakeBroker& broker) {
    broker.fault = [](const wire::Request& request, int) {
      return FakeBroker::Fault{error_frame(request.correlation_id, wire::WireError::unsupported_version)};
    };
    ASSERT_TRUE(send_metadata(connection).has_value());
    const auto answer = connection.receive(in_a_second());
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->error, wire::WireError::unsupported_version);
  });
}

TEST_F(ConnectionTest, RefusesWhatNoBrokerMaySend) {
  for (const char* hex : {
           "00000006 00000002 0000",      // another request's correlation id
           "00000000",                    // no frame at all
           "FFFFFFFF",                    //
           "00800001",                    // above 8 MiB
           "7FFFFFFF 00000001 0000",      //
           "00000005 00000001 00",        // no room for a header
           "00000006 00000001 0006",      // no such code
           "00000007 00000001 0005 00",   // an error with a body
           "48545450 2F312E31 20343030",  // HTTP
       }) {
    const Failure failure = failure_after(hex, Then::hang);
    EXPECT_EQ(failure.kind, FailureKind::bad_answer) << hex << ": " << failure.message;
  }
}

TEST_F(ConnectionTest, ACloseOrResetAnywhereInAnAnswerIsALostConnection) {
  const std::string whole = "0000000A 00000001 0000 00000000";
  for (std::size_t digits = 0; digits < whole.size(); ++digits) {
    for (const Then then : {Then::close, Then::reset}) {
      const auto part = to_hex(from_hex(whole.substr(0, digits)));
      const Failure failure = failure_after(part, then);
      EXPECT_EQ(failure.kind, FailureKind::lost) << part;
      if (then == Then::close) {
        EXPECT_EQ(failure.message.contains("in the middle of an answer"), !part.empty()) << failure.message;
      }
    }
  }
}

TEST_F(ConnectionTest, ATimeoutOfReceiveLeavesTheConnectionAsItWas) {
  with_connection([&](Connection& connection, FakeBroker& broker) {
    std::vector<std::byte> frame;
    wire::encode_fetch(frame, 1, "t", PartitionId(0), Offset(0), 100, std::chrono::seconds(5), 1);
    ASSERT_TRUE(connection.send(frame, 1, in_a_second()).has_value());
    const auto late = connection.receive(in_a_second());
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().kind, FailureKind::timed_out);
    broker.at("t", 0).append(as_bytes("x"));
    broker.appended();
    const auto answer = connection.receive(in_a_second());
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(wire::decode_fetch_response(answer->frame)->high_watermark, Offset(1));
  });
}

TEST_F(ConnectionTest, ATimeoutOfACallIsFinal) {
  with_connection([&](Connection& connection, FakeBroker& broker) {
    broker.fault = [](const wire::Request&, int) { return FakeBroker::Fault{{}, Then::hang}; };
    std::vector<std::byte> frame;
    wire::encode_metadata(frame, 1, {});
    EXPECT_EQ(connection.call(frame, 1, in_a_second()).error().kind, FailureKind::timed_out);
    EXPECT_EQ(send_metadata(connection).error().kind, FailureKind::timed_out);
  });
}

TEST_F(ConnectionTest, APeerThatDoesNotReadTimesTheSendOut) {
  world.network.limits.buffer_bytes = 64;
  with_connection([&](Connection& connection, FakeBroker& broker) {
    broker.fault = [](const wire::Request&, int) { return FakeBroker::Fault{{}, Then::hang}; };
    Outcome<void> sent;
    for (int i = 0; i < 10 && sent; ++i) {
      sent = send_metadata(connection);
    }
    ASSERT_FALSE(sent.has_value());
    EXPECT_EQ(sent.error().kind, FailureKind::timed_out);
    EXPECT_EQ(send_metadata(connection).error().kind, FailureKind::timed_out);  // half a frame may be out
  });
}

TEST_F(ConnectionTest, AbortWakesTheReceiver) {
  with_connection([&](Connection& connection, FakeBroker& broker) {
    broker.fault = [](const wire::Request&, int) { return FakeBroker::Fault{{}, Then::hang}; };
    ASSERT_TRUE(send_metadata(connection).has_value());
    world.scheduler.spawn("aborter", [&connection] { connection.abort(); });
    EXPECT_EQ(connection.receive(Deadline::never()).error().kind, FailureKind::lost);
  });
}

TEST_F(ConnectionTest, NobodyThereIsUnreachable) {
  EXPECT_TRUE(world.scheduler.run([&] {
    const auto connection = Connection::open(world.network, {"nowhere", 9}, in_a_second());
    ASSERT_FALSE(connection.has_value());
    EXPECT_EQ(connection.error().kind, FailureKind::unreachable);
    EXPECT_NE(connection.error().message.find("nowhere:9"), std::string::npos);
  }));
}

}  // namespace
}  // namespace booblik::client
