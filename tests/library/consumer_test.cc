#include <booblik/consumer.h>
#include <booblik/producer.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "broker_thread.h"

namespace booblik::library {
namespace {

ConsumerOptions options_for(std::int32_t max_bytes = 1024 * 1024) {
  ConsumerOptions options;
  options.topic = "t";
  options.max_bytes = max_bytes;
  return options;
}

Consumer open_consumer(const Client& client, const ConsumerOptions& options) {
  auto consumer = Consumer::open(client, options);
  EXPECT_TRUE(consumer.has_value()) << consumer.error().message;
  return std::move(*consumer);
}

TEST(Consumer, GivesEveryRecordWithItsOffsetAndThePosition) {
  BrokerThread broker;
  for (int i = 0; i < 100; ++i) {
    broker.append("record " + std::to_string(i));
  }
  const Client client = open_client(broker);
  Consumer consumer = open_consumer(client, options_for(200));  // several records, cut somewhere
  EXPECT_EQ(consumer.start_offset(), 0);
  EXPECT_EQ(consumer.end_offset(), 100);
  std::int64_t next = 0;
  while (true) {
    const auto batch = consumer.poll();
    ASSERT_TRUE(batch.has_value()) << batch.error().message;
    if (batch->empty()) {
      break;
    }
    for (const Record& record : *batch) {
      ASSERT_EQ(record.offset, next);
      ASSERT_EQ(record.value, "record " + std::to_string(next));
      ++next;
    }
    EXPECT_EQ(batch->next_offset(), next);
    EXPECT_EQ(consumer.position(), next);
    EXPECT_EQ(batch->high_watermark(), 100);
    EXPECT_EQ((*batch)[0].offset, next - static_cast<std::int64_t>(batch->size()));
  }
  EXPECT_EQ(next, 100);
}

TEST(Consumer, StartsWhereItIsToldAndSeeks) {
  BrokerThread broker;
  for (int i = 0; i < 10; ++i) {
    broker.append(std::to_string(i));
  }
  const Client client = open_client(broker);
  ConsumerOptions options = options_for();
  options.start_at = StartAt::offset;
  options.start_number = 4;
  EXPECT_EQ(open_consumer(client, options).position(), 4);
  options.start_at = StartAt::before_end;
  options.start_number = 3;
  EXPECT_EQ(open_consumer(client, options).position(), 7);
  options.start_at = StartAt::end;
  Consumer consumer = open_consumer(client, options);
  EXPECT_EQ(consumer.position(), 10);
  consumer.seek(9);
  EXPECT_EQ(consumer.position(), 9);
  EXPECT_EQ((*consumer.poll())[0].value, "9");
  EXPECT_EQ(consumer.position(), 10);
}

TEST(Consumer, ASlowOneLosesNothing) {
  constexpr int kRecords = 20'000;
  BrokerThread broker;
  const Client client = open_client(broker);
  std::thread writer([&] {
    ProducerOptions options;
    options.topic = "t";
    options.batch_bytes = 16 * 1024;
    auto producer = Producer::open(client, options);
    ASSERT_TRUE(producer.has_value());
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(producer->send(std::to_string(i)).has_value());
    }
    ASSERT_TRUE(producer->close().has_value());
  });
  Consumer consumer = open_consumer(client, options_for(1'000));  // some 70 records a round trip
  int next = 0;
  while (next < kRecords) {
    const auto batch = consumer.follow(std::chrono::seconds(20));
    ASSERT_TRUE(batch.has_value()) << batch.error().message;
    ASSERT_FALSE(batch->empty());
    for (const Record& record : *batch) {
      ASSERT_EQ(record.value, std::to_string(next++));
    }
  }
  writer.join();
}

TEST(Consumer, FollowWaitsForARecordAndEndsAtItsTimeout) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Consumer consumer = open_consumer(client, options_for());
  const auto none = consumer.follow(std::chrono::milliseconds(5));
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->empty());
  const int before = broker.requests();
  std::thread writer([&] {
    while (broker.requests() == before) {  // the FETCH that is held
      std::this_thread::yield();
    }
    broker.append("late");
  });
  const auto batch = consumer.follow();
  writer.join();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ((*batch)[0].value, "late");
}

TEST(Consumer, ReplayEndsWhereTheLogEndedAtTheStart) {
  BrokerThread broker;
  broker.append("a");
  broker.append("b");
  const Client client = open_client(broker);
  Consumer consumer = open_consumer(client, options_for());
  broker.append("c");
  EXPECT_EQ(consumer.replay()->size(), 2U);
  EXPECT_TRUE(consumer.replay()->empty());
  EXPECT_EQ(consumer.position(), 2);
}

TEST(Consumer, InterruptFromAnotherThreadEndsAHeldCall) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Consumer consumer = open_consumer(client, options_for());
  const int before = broker.requests();
  std::thread interrupter([&] {
    while (broker.requests() == before) {
      std::this_thread::yield();
    }
    consumer.interrupt();
  });
  EXPECT_EQ(consumer.follow().error().kind, FailureKind::closed);
  interrupter.join();
  EXPECT_EQ(consumer.poll().error().kind, FailureKind::closed);
}

TEST(Consumer, ComesBackAfterALossAndMissesNothing) {
  BrokerThread broker;
  for (int i = 0; i < 1'000; ++i) {
    broker.append(std::to_string(i));
  }
  broker.set_fault([](const wire::Request&, int number) -> std::optional<BrokerThread::Fault> {
    return number % 7 == 6 ? std::optional(BrokerThread::Fault{{}, BrokerThread::Fault::Then::reset})
                           : std::nullopt;
  });
  const Client client = open_client(broker, std::chrono::seconds(30), true);
  Consumer consumer = open_consumer(client, options_for(200));
  int next = 0;
  while (next < 1'000) {
    const auto batch = consumer.poll();
    ASSERT_TRUE(batch.has_value()) << batch.error().message;
    for (const Record& record : *batch) {
      ASSERT_EQ(record.value, std::to_string(next++));
    }
  }
}

TEST(Consumer, ErrorsHaveNames) {
  BrokerThread broker;
  broker.append("short");
  broker.append(std::string(1'000, 'x'));
  broker.append("corrupt");
  broker.with([](client::FakeBroker& fake) { fake.at("t", 0).log.back() ^= std::byte{1}; });
  const Client client = open_client(broker);
  Consumer consumer = open_consumer(client, options_for(100));
  EXPECT_EQ(consumer.poll()->size(), 1U);
  const auto large = consumer.poll();
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().kind, FailureKind::record_exceeds_max_bytes);
  EXPECT_EQ(large.error().offset, 1);
  EXPECT_EQ(large.error().record_bytes, 1'000);
  EXPECT_EQ(consumer.position(), 1);
  consumer.seek(2);
  EXPECT_EQ(consumer.poll().error().kind, FailureKind::corrupt_record);
  consumer.seek(50);
  EXPECT_EQ(consumer.poll().error().kind, FailureKind::log_reset);
  broker.with([](client::FakeBroker& fake) { fake.at("t", 0).log_start = Offset(10); });
  consumer.seek(3);
  EXPECT_EQ(consumer.poll().error().kind, FailureKind::offset_out_of_range);
  consumer.seek(-1);
  EXPECT_EQ(consumer.poll().error().kind, FailureKind::invalid);
}

TEST(Consumer, BadArgumentsAreNamed) {
  BrokerThread broker;
  const Client client = open_client(broker);
  ConsumerOptions options = options_for(0);
  EXPECT_EQ(Consumer::open(client, options).error().kind, FailureKind::invalid);
  options = options_for();
  options.partition = 1;
  EXPECT_EQ(Consumer::open(client, options).error().kind, FailureKind::refused);
  options = options_for();
  options.topic = "nobody";
  EXPECT_EQ(Consumer::open(client, options).error().broker_error, BrokerError::unknown_topic_or_partition);
  options = options_for();
  options.hold = std::chrono::hours(1);
  EXPECT_EQ(Consumer::open(client, options).error().kind, FailureKind::invalid);
  options = options_for();
  options.start_number = -1;
  EXPECT_EQ(Consumer::open(client, options).error().kind, FailureKind::invalid);
}

}  // namespace
}  // namespace booblik::library
