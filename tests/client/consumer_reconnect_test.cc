// A consumer whose broker goes away and comes back: every record once and in order, and a log that came back
// shorter is told.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "client/consumer.h"
#include "fake_broker.h"
#include "virtual_world.h"

namespace booblik::client {
namespace {

std::string value_of(std::int64_t number) {
  return std::string("v").append(std::to_string(number));
}

using std::chrono::seconds;
using Then = FakeBroker::Fault::Then;

class ConsumerReconnect : public testing::Test {
 protected:
  void with_broker(int records, std::move_only_function<void(FakeBroker&)> body) {
    EXPECT_TRUE(world.scheduler.run([&] {
      FakeBroker broker(world.roles);
      broker.add("t", 0);
      append(broker, records);
      body(broker);
    }));
    EXPECT_EQ(world.scheduler.fibers(), 0U);
  }

  static void append(FakeBroker& broker, int records) {
    for (int i = 0; i < records; ++i) {
      const std::int64_t offset = broker.at("t", 0).end().value();
      broker.at("t", 0).append(as_bytes(value_of(offset)));
    }
  }

  std::unique_ptr<Consumer> open(FakeBroker& broker, Duration give_up_after = std::chrono::minutes(1)) {
    ConsumerOptions options;
    options.broker = broker.address();
    options.topic = "t";
    options.max_bytes = 100;
    options.reconnect.give_up_after = give_up_after;
    options.on_connection = [this](const ConnectionEvent& event) { states.push_back(event.state); };
    auto consumer = Consumer::open(world.roles, options);
    EXPECT_TRUE(consumer.has_value());
    return std::move(*consumer);
  }

  // Follows up to `end` at least, and checks that the next records come.
  void read_to(Consumer& consumer, std::int64_t end) {
    std::int64_t next = consumer.position().value();
    while (next < end) {
      const auto batch = consumer.follow(Deadline::never());
      ASSERT_TRUE(batch.has_value()) << batch.error().message;
      for (const Record& record : batch->records) {
        ASSERT_EQ(record.offset, Offset(next));
        ASSERT_EQ(as_text(record.value), value_of(next));
        ++next;
      }
    }
    ASSERT_EQ(consumer.position(), Offset(next));
  }

  void pass(Duration duration) { (void)world.scheduler.park(Deadline(world.scheduler.now() + duration)); }

  VirtualWorld world;
  std::vector<ConnectionState> states;
};

TEST_F(ConsumerReconnect, GoesOnAtItsPosition) {
  with_broker(50, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    read_to(*consumer, 30);
    broker.stop();
    broker.start();
    read_to(*consumer, 50);
    world.scheduler.spawn("restart", [&] {  // under a held FETCH
      pass(seconds(3));
      broker.stop();
      pass(seconds(7));
      append(broker, 5);
      broker.start();
    });
    read_to(*consumer, 55);
    EXPECT_EQ(consumer->reconnects(), 2U);
    EXPECT_TRUE(consumer->connected());
    EXPECT_EQ(states.front(), ConnectionState::reconnecting);
    EXPECT_EQ(states.back(), ConnectionState::connected);
  });
}

TEST_F(ConsumerReconnect, ALogThatCameBackShorterIsToldUntilASeek) {
  with_broker(10, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    read_to(*consumer, 10);
    broker.stop();
    auto& log = broker.at("t", 0);
    log.log.resize(log.positions[7]);
    log.positions.resize(7);
    broker.start();
    EXPECT_EQ(consumer->follow(Deadline::never()).error().kind, FailureKind::log_reset);
    append(broker, 10);  // over the position: what was there before is other data now
    for (int again = 0; again < 2; ++again) {
      const auto batch = consumer->poll();
      ASSERT_FALSE(batch.has_value());
      EXPECT_EQ(batch.error().kind, FailureKind::log_reset);
      EXPECT_TRUE(batch.error().message.contains("it has offsets 0 to 7")) << batch.error().message;
    }
    EXPECT_EQ(consumer->position(), Offset(10));
    consumer->seek(Offset(7));
    read_to(*consumer, 17);
  });
}

TEST_F(ConsumerReconnect, ADeadlineHoldsWhileTheBrokerIsAway) {
  with_broker(1, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    read_to(*consumer, 1);
    broker.stop();
    for (int call = 0; call < 3; ++call) {
      const Instant before = world.scheduler.now();
      const auto batch = consumer->follow(Deadline(before + seconds(5)));
      ASSERT_TRUE(batch.has_value());
      EXPECT_TRUE(batch->records.empty());
      EXPECT_EQ(batch->next, Offset(1));
      EXPECT_EQ(world.scheduler.now() - before, seconds(5));
      EXPECT_FALSE(consumer->connected());
    }
    append(broker, 1);
    broker.start();
    read_to(*consumer, 2);
  });
}

TEST_F(ConsumerReconnect, ABrokerThatStaysAwayIsGivenUpForGood) {
  with_broker(3, [&](FakeBroker& broker) {
    auto consumer = open(broker, seconds(10));
    broker.stop();
    const Instant before = world.scheduler.now();
    const auto batch = consumer->poll();
    ASSERT_FALSE(batch.has_value());
    EXPECT_EQ(batch.error().kind, FailureKind::unreachable);
    EXPECT_TRUE(batch.error().message.contains("gave up")) << batch.error().message;
    EXPECT_GE(world.scheduler.now() - before, seconds(10));
    broker.start();
    EXPECT_EQ(consumer->poll().error().kind, FailureKind::unreachable);
    EXPECT_EQ(states.back(), ConnectionState::gave_up);
  });
}

TEST_F(ConsumerReconnect, ABrokerThatOnlyAcceptsIsGivenUpToo) {
  with_broker(3, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    broker.fault = [](const wire::Request& request, int) -> std::optional<FakeBroker::Fault> {
      return std::holds_alternative<wire::FetchRequest>(request.body)
                 ? std::optional(FakeBroker::Fault{{}, Then::close})
                 : std::nullopt;
    };
    EXPECT_EQ(consumer->poll().error().kind, FailureKind::lost);
    EXPECT_LT(broker.connections, 40);
  });
}

TEST_F(ConsumerReconnect, InterruptEndsTheWaitForABroker) {
  with_broker(1, [&](FakeBroker& broker) {
    auto consumer = open(broker, Duration::max());
    broker.stop();
    world.scheduler.spawn("interrupter", [&] {
      pass(seconds(200));
      consumer->interrupt();
    });
    EXPECT_EQ(consumer->follow(Deadline::never()).error().kind, FailureKind::closed);
    EXPECT_EQ(consumer->poll().error().kind, FailureKind::closed);
  });
}

TEST_F(ConsumerReconnect, ATopicThatIsGoneIsTheEnd) {
  with_broker(1, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    broker.fault = [](const wire::Request& request, int) {
      return FakeBroker::Fault{
          error_frame(request.correlation_id, wire::WireError::unknown_topic_or_partition)};
    };
    broker.stop();
    broker.start();
    const auto batch = consumer->poll();
    ASSERT_FALSE(batch.has_value());
    EXPECT_EQ(batch.error().refusal, wire::WireError::unknown_topic_or_partition);
    EXPECT_EQ(states.back(), ConnectionState::gave_up);
  });
}

RC_GTEST_PROP(ConsumerReconnectProperty, EveryRecordOnceAndInOrderThroughAnyLosses, ()) {
  const auto records = *rc::gen::inRange(1, 60);
  VirtualWorld world;
  world.network.limits = {.piece_bytes = *rc::gen::inRange<std::size_t>(1, 100),
                          .buffer_bytes = *rc::gen::inRange<std::size_t>(10, 300),
                          .cut_after_bytes = *rc::gen::inRange<std::size_t>(250, 1000)};
  const auto faults = *rc::gen::container<std::map<int, Then>>(
      rc::gen::inRange(1, 60), rc::gen::element(Then::close, Then::reset, Then::hang));
  std::int64_t next = 0;
  RC_ASSERT(world.scheduler.run([&] {
    FakeBroker broker(world.roles);
    broker.add("t", 0);
    for (int i = 0; i < records; ++i) {
      broker.at("t", 0).append(as_bytes(value_of(i)));
    }
    broker.fault = [&](const wire::Request&, int number) -> std::optional<FakeBroker::Fault> {
      const auto fault = faults.find(number);
      return fault != faults.end() ? std::optional(FakeBroker::Fault{{}, fault->second}) : std::nullopt;
    };
    ConsumerOptions options;
    options.broker = broker.address();
    options.topic = "t";
    options.max_bytes = 60;  // an answer fits what is let through before a cut
    options.reconnect.give_up_after = std::chrono::hours(1);
    const auto consumer = Consumer::open(world.roles, options);
    RC_ASSERT(consumer.has_value());
    while (true) {
      const auto batch = (*consumer)->replay();
      RC_ASSERT(batch.has_value());
      if (batch->records.empty()) {
        break;
      }
      for (const Record& record : batch->records) {
        RC_ASSERT(record.offset == Offset(next));
        RC_ASSERT(as_text(record.value) == value_of(next));
        ++next;
      }
    }
  }));
  RC_ASSERT(next == records);
}

}  // namespace
}  // namespace booblik::client
