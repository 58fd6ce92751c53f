// The client over real sockets: what the virtual streams may have made too easy.
#include <gtest/gtest.h>

#include <string>

#include "client/consumer.h"
#include "client/producer.h"
#include "env/posix/environment.h"
#include "fake_broker.h"

namespace booblik::client {
namespace {

std::string value_of(int number) {
  return std::string("record ").append(std::to_string(number));
}

class PosixClientTest : public testing::Test {
 protected:
  void run(const std::function<void(Roles, FakeBroker&)>& body) {
    env::SystemCalls system;
    const auto environment = env::PosixEnvironment::create({}, system);
    ASSERT_TRUE(environment.has_value());
    const env::Environment all = (*environment)->roles();
    const Roles roles{all.scheduler, all.clock, all.network, all.random};
    const auto unfinished = (*environment)->run([&] {
      FakeBroker broker(roles, "127.0.0.1");
      broker.add("t", 0);
      body(roles, broker);
    });
    EXPECT_TRUE(unfinished.empty());
  }

  static std::unique_ptr<Consumer> open_consumer(Roles roles, FakeBroker& broker) {
    ConsumerOptions options{
        .broker = broker.address(), .topic = "t", .partition = PartitionId(0), .start = {}};
    options.reconnect.enabled = false;
    auto consumer = Consumer::open(roles, options);
    EXPECT_TRUE(consumer.has_value());
    return std::move(*consumer);
  }

  static std::unique_ptr<Producer> open_producer(Roles roles, FakeBroker& broker) {
    ProducerOptions options{
        .broker = broker.address(), .topic = "t", .batch_bytes = 10'000, .on_delivery = {}};
    options.reconnect.enabled = false;
    auto producer = Producer::open(roles, options);
    EXPECT_TRUE(producer.has_value());
    return std::move(*producer);
  }
};

TEST_F(PosixClientTest, WhatIsProducedIsConsumed) {
  run([](Roles roles, FakeBroker& broker) {
    auto producer = open_producer(roles, broker);
    constexpr int kRecords = 20'000;
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(producer->send(as_bytes(value_of(i))).has_value());
    }
    ASSERT_TRUE(producer->close().has_value());
    auto consumer = open_consumer(roles, broker);
    int next = 0;
    while (true) {
      const auto batch = consumer->replay();
      ASSERT_TRUE(batch.has_value()) << batch.error().message;
      if (batch->records.empty()) {
        break;
      }
      for (const Record& record : batch->records) {
        ASSERT_EQ(as_text(record.value), value_of(next++));
      }
    }
    EXPECT_EQ(next, kRecords);
  });
}

TEST_F(PosixClientTest, AHeldFetchEndsWhenARecordComes) {
  run([](Roles roles, FakeBroker& broker) {
    auto consumer = open_consumer(roles, broker);
    roles.scheduler.spawn("writer", [&] {
      while (broker.requests < 2) {  // METADATA, then the FETCH that is held
        roles.scheduler.yield();
      }
      broker.at("t", 0).append(as_bytes("late"));
      broker.appended();
    });
    const auto batch = consumer->follow(Deadline::never());
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(as_text(batch->records[0].value), "late");
  });
}

TEST_F(PosixClientTest, AClosedOrResetConnectionIsLost) {
  for (const auto then : {FakeBroker::Fault::Then::close, FakeBroker::Fault::Then::reset}) {
    run([then](Roles roles, FakeBroker& broker) {
      auto consumer = open_consumer(roles, broker);
      auto producer = open_producer(roles, broker);
      broker.fault = [then](const wire::Request&, int) { return FakeBroker::Fault{{std::byte{0}}, then}; };
      EXPECT_EQ(consumer->poll().error().kind, FailureKind::lost);
      ASSERT_TRUE(producer->send(as_bytes("x")).has_value());
      EXPECT_EQ(producer->close().error().kind, FailureKind::lost);
    });
  }
}

TEST_F(PosixClientTest, InterruptEndsAHeldFetch) {
  run([](Roles roles, FakeBroker& broker) {
    auto consumer = open_consumer(roles, broker);
    roles.scheduler.spawn("interrupter", [&] { consumer->interrupt(); });
    EXPECT_EQ(consumer->follow(Deadline::never()).error().kind, FailureKind::closed);
  });
}

TEST_F(PosixClientTest, NobodyThereIsUnreachable) {
  run([](Roles roles, FakeBroker& broker) {
    std::uint16_t port = 0;
    {
      const auto gone = roles.network.listen("127.0.0.1", 0);
      ASSERT_TRUE(gone.has_value());
      port = (*gone)->port();
    }
    const ProducerOptions options{.broker = {"127.0.0.1", port}, .topic = "t", .on_delivery = {}};
    EXPECT_EQ(Producer::open(roles, options).error().kind, FailureKind::unreachable);
    (void)broker;
  });
}

}  // namespace
}  // namespace booblik::client
