#include <booblik/connection.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "broker_thread.h"

namespace booblik::library {
namespace {

using Then = BrokerThread::Fault::Then;

Connection open_connection(const Client& client) {
  auto connection = Connection::open(client);
  EXPECT_TRUE(connection.has_value()) << connection.error().message;
  return std::move(*connection);
}

ProduceRequest one_record(std::string_view value) {
  ProduceRequest request;
  request.topic = "t";
  request.records = {value};
  return request;
}

TEST(Connection, FiftyThreadsAThousandRequestsEachAnsweredExactlyOnce) {
  constexpr int kThreads = 50;
  constexpr int kRequests = 1'000;
  BrokerThread broker;
  const Client client = open_client(broker);
  Connection connection = open_connection(client);
  std::vector<std::vector<std::int64_t>> offsets(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      auto& mine = offsets[static_cast<std::size_t>(thread)];
      for (int i = 0; i < kRequests; ++i) {
        const std::string value = std::to_string(thread) + ":" + std::to_string(i);
        const auto answer = connection.produce(one_record(value));
        ASSERT_TRUE(answer.has_value()) << answer.error().message;
        mine.push_back(answer->base_offset);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  // That the record at each answered offset is the one that was asked for proves that no answer went astray.
  const std::vector<std::string> records = broker.records();
  ASSERT_EQ(records.size(), std::size_t{kThreads * kRequests});
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int i = 0; i < kRequests; ++i) {
      const std::int64_t offset = offsets[static_cast<std::size_t>(thread)].at(static_cast<std::size_t>(i));
      ASSERT_EQ(records.at(static_cast<std::size_t>(offset)),
                std::to_string(thread) + ":" + std::to_string(i));
    }
  }
}

TEST(Connection, ABreakAnswersEveryRequestExactlyOnce) {
  constexpr int kRequests = 5'000;
  BrokerThread broker;
  broker.set_fault([](const wire::Request&, int number) -> std::optional<BrokerThread::Fault> {
    if (number == 1'000) {
      return BrokerThread::Fault{{}, Then::reset};
    }
    return std::nullopt;
  });
  const Client client = open_client(broker);
  std::vector<std::atomic<int>> answered(kRequests);
  std::atomic<int> good = 0;
  {
    Connection connection = open_connection(client);
    for (int i = 0; i < kRequests; ++i) {
      connection.produce(one_record("x"), [&, i](const Outcome<ProduceAnswer>& answer) {
        ++answered[static_cast<std::size_t>(i)];
        good += answer.has_value() ? 1 : 0;
      });
    }
  }
  for (const auto& count : answered) {
    ASSERT_EQ(count, 1);
  }
  EXPECT_LE(good, 1'000);
}

TEST(Connection, DroppedItFailsWhatHasNoAnswer) {
  BrokerThread broker;
  broker.set_produce_fault(Then::hang);
  const Client client = open_client(broker);
  std::promise<Failure> failed;
  {
    Connection connection = open_connection(client);
    connection.produce(one_record("x"),
                       [&](const Outcome<ProduceAnswer>& answer) { failed.set_value(answer.error()); });
  }
  EXPECT_FALSE(failed.get_future().get().message.empty());
}

TEST(Connection, AnAnswerThatIsLateEndsTheConnection) {
  BrokerThread broker;
  broker.set_produce_fault(Then::hang);
  const Client client = open_client(broker, std::chrono::milliseconds(50));
  Connection connection = open_connection(client);
  const auto answer = connection.produce(one_record("x"));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, FailureKind::timed_out);
  EXPECT_TRUE(answer.error().maybe_done);
  EXPECT_FALSE(connection.metadata().has_value());
}

TEST(Connection, AfterAnUnansweredRequestCouldNotBeSentNothingHangs) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Connection connection = open_connection(client);
  broker.stop();
  ProduceRequest silent = one_record("x");
  silent.acks = Acks::none;
  while (connection.produce(silent)) {
  }
  EXPECT_FALSE(connection.produce(one_record("x")).has_value());
  EXPECT_FALSE(connection.metadata().has_value());
}

TEST(Connection, CarriesEachKindOfRequest) {
  BrokerThread broker(2);
  const Client client = open_client(broker);
  Connection connection = open_connection(client);
  ProduceRequest produce;
  produce.topic = "t";
  produce.partition = 1;
  produce.records = {"a", "bb", "ccc"};
  const auto produced = connection.produce(produce);
  ASSERT_TRUE(produced.has_value());
  EXPECT_EQ(produced->base_offset, 0);
  EXPECT_EQ(produced->log_end_offset, 3);

  FetchRequest fetch;
  fetch.topic = "t";
  fetch.partition = 1;
  fetch.offset = 1;
  fetch.max_bytes = 12;  // "bb" and two bytes of the next
  auto fetched = connection.fetch(fetch);
  ASSERT_TRUE(fetched.has_value());
  EXPECT_EQ(fetched->high_watermark, 3);
  EXPECT_EQ(fetched->records, (std::vector<std::string>{"bb"}));
  EXPECT_EQ(fetched->payload.size(), 12U);
  fetch.max_bytes = 4;
  fetched = connection.fetch(fetch);
  EXPECT_TRUE(fetched->records.empty());
  EXPECT_EQ(fetched->tail_record_bytes, 2);

  const auto topics = connection.metadata({"t"});
  ASSERT_TRUE(topics.has_value());
  ASSERT_EQ(topics->size(), 1U);
  ASSERT_EQ(topics->front().partitions.size(), 2U);
  EXPECT_EQ(topics->front().partitions[1].end_offset, 3);

  produce.partition = 5;
  EXPECT_EQ(connection.produce(produce).error().broker_error, BrokerError::unknown_topic_or_partition);
  produce.records = {""};
  EXPECT_EQ(connection.produce(produce).error().kind, FailureKind::invalid);
  fetch.topic = "no good";
  EXPECT_EQ(connection.fetch(fetch).error().kind, FailureKind::invalid);
}

TEST(Partitioner, AgreesWithTheVectors) {
  EXPECT_EQ(partition_for_key("a", 0), -1);
  EXPECT_EQ(partition_for_key("", 64), static_cast<std::int32_t>(0x811C9DC5U % 64));
  EXPECT_EQ(partition_for_key("a", 1'000), static_cast<std::int32_t>(0xE40C292CU % 1'000));
}

}  // namespace
}  // namespace booblik::library
