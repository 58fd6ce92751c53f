#include <booblik/producer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "broker_thread.h"
#include "ledger.h"

namespace booblik::library {
namespace {

using Then = BrokerThread::Fault::Then;

ProducerOptions options_for(Ledger& ledger) {
  ProducerOptions options;
  options.topic = "t";
  options.batch_bytes = 4096;
  options.on_delivery = ledger.listener();
  return options;
}

Producer open_producer(const Client& client, ProducerOptions options) {
  auto producer = Producer::open(client, std::move(options));
  EXPECT_TRUE(producer.has_value()) << producer.error().message;
  return std::move(*producer);
}

TEST(Producer, ManyThreadsShareOneAndEachRecordIsStoredOnce) {
  constexpr int kThreads = 8;
  constexpr int kRecords = 2'000;
  BrokerThread broker(3);
  const Client client = open_client(broker);
  Ledger ledger;
  Producer producer = open_producer(client, options_for(ledger));
  std::vector<std::vector<std::pair<Ticket, std::string>>> sent(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kRecords; ++i) {
        const std::string value = std::to_string(thread) + ":" + std::to_string(i);
        const auto ticket = i % 2 == 0 ? producer.send(value) : producer.send_keyed(value, value);
        ASSERT_TRUE(ticket.has_value()) << ticket.error().message;
        sent[static_cast<std::size_t>(thread)].emplace_back(*ticket, value);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(producer.close().has_value());
  EXPECT_EQ(ledger.size(), std::size_t{kThreads * kRecords});
  const std::vector<std::vector<std::string>> logs{broker.records(0), broker.records(1), broker.records(2)};
  EXPECT_EQ(logs[0].size() + logs[1].size() + logs[2].size(), std::size_t{kThreads * kRecords});
  for (const auto& of_thread : sent) {
    for (const auto& [ticket, value] : of_thread) {
      const std::int64_t offset = ledger.offset(ticket);
      ASSERT_GE(offset, 0);
      ASSERT_EQ(logs.at(static_cast<std::size_t>(ticket.partition)).at(static_cast<std::size_t>(offset)),
                value);
    }
  }
}

TEST(Producer, KeepsTheOrderOfAThreadInEachPartition) {
  BrokerThread broker(2);
  const Client client = open_client(broker);
  Ledger ledger;
  Producer producer = open_producer(client, options_for(ledger));
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(producer.send_to(i % 2, std::to_string(i)).has_value());
  }
  ASSERT_TRUE(producer.close().has_value());
  for (int partition = 0; partition < 2; ++partition) {
    int next = partition;
    for (const std::string& value : broker.records(partition)) {
      ASSERT_EQ(value, std::to_string(next));
      next += 2;
    }
    EXPECT_EQ(next, 5'000 + partition);
  }
}

TEST(Producer, ReceiptsAndFuturesTellTheOffset) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  Producer producer = open_producer(client, options_for(ledger));
  std::promise<Receipt> promise;
  ASSERT_TRUE(producer.send("a", [&](const Receipt& receipt) { promise.set_value(receipt); }).has_value());
  auto second = producer.send_future("b");
  auto third = producer.send_keyed_future("key", "c");
  ASSERT_TRUE(producer.flush().has_value());
  EXPECT_EQ(promise.get_future().get().offset, 0);
  const Receipt receipt = second.get();
  EXPECT_TRUE(static_cast<bool>(receipt));
  EXPECT_EQ(receipt.state, Delivered::acknowledged);
  EXPECT_EQ(receipt.partition, 0);
  EXPECT_EQ(receipt.offset, 1);
  EXPECT_EQ(third.get().offset, 2);
  EXPECT_EQ(broker.records(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Producer, ALoneRecordGoesWithoutAFlush) {
  BrokerThread broker;
  const Client client = open_client(broker);
  for (const auto linger : {std::chrono::microseconds(0), std::chrono::microseconds(500)}) {
    Ledger ledger;
    ProducerOptions options = options_for(ledger);
    options.linger = linger;
    Producer producer = open_producer(client, options);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(producer.send_future("x").get().state, Delivered::acknowledged);
    }
  }
}

TEST(Producer, ManyRecordsAreFewRequests) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  ProducerOptions options = options_for(ledger);
  options.batch_bytes = 128 * 1024;
  options.linger = std::chrono::seconds(10);
  Producer producer = open_producer(client, options);
  const std::string value(100, 'x');
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(producer.send(value).has_value());
  }
  ASSERT_TRUE(producer.close().has_value());  // well before the linger time
  EXPECT_EQ(broker.records().size(), 10'000U);
  EXPECT_LE(broker.requests(), 1 + 9);  // METADATA, and 10 000 * 104 bytes in batches of 128 KiB
}

TEST(Producer, WhenTheBrokerStallsTheCallerWaitsAndTryFails) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  ProducerOptions options = options_for(ledger);
  options.buffered_bytes_max = 64 * 1024;
  options.in_flight_max = 2;
  options.linger = std::chrono::microseconds(0);
  options.send_timeout = std::chrono::milliseconds(10);
  Producer producer = open_producer(client, options);
  broker.set_produce_fault(Then::hang);
  const std::string value(1'000, 'x');
  std::size_t accepted = 0;
  while (true) {
    const auto ticket = producer.send(value);
    if (!ticket) {
      EXPECT_EQ(ticket.error().kind, FailureKind::buffer_full);
      break;
    }
    ASSERT_LT(++accepted, 1'000U) << "memory is not bounded";
  }
  EXPECT_GE(accepted, 32U);
  EXPECT_EQ(producer.try_send(value).error().kind, FailureKind::buffer_full);
  {
    const Producer dropped = std::move(producer);
  }
  EXPECT_EQ(ledger.size(), accepted);
  EXPECT_EQ(ledger.count(Delivered::unknown) + ledger.count(Delivered::not_sent), accepted);
  EXPECT_GE(ledger.count(Delivered::unknown), 1U);
}

TEST(Producer, WaitersGetTheRoomThatComes) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  ProducerOptions options = options_for(ledger);
  options.buffered_bytes_max = 8 * 1024;
  options.batch_bytes = 1024;
  Producer producer = open_producer(client, options);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      const std::string value(700, 'x');
      for (int i = 0; i < 500; ++i) {
        ASSERT_TRUE(producer.send(value).has_value());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(producer.close().has_value());
  EXPECT_EQ(broker.records().size(), 2'000U);
  EXPECT_EQ(ledger.count(Delivered::acknowledged), 2'000U);
}

TEST(Producer, ARecordLargerThanTheBufferStillGoes) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  ProducerOptions options = options_for(ledger);
  options.buffered_bytes_max = 1'000;
  Producer producer = open_producer(client, options);
  const std::string large(1'000'000, 'x');
  auto receipt = producer.send_future(large);
  EXPECT_EQ(receipt.get().state, Delivered::acknowledged);
}

TEST(Producer, DroppedWithWorkOutstandingItReportsEverything) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  std::vector<std::future<Receipt>> futures;
  {
    ProducerOptions options = options_for(ledger);
    options.in_flight_max = 1;
    Producer producer = open_producer(client, options);
    broker.set_produce_fault(Then::hang);
    for (int i = 0; i < 1'000; ++i) {
      futures.push_back(producer.send_future(std::string(100, 'x')));
    }
  }
  for (auto& future : futures) {
    ASSERT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    const Receipt receipt = future.get();
    ASSERT_TRUE(receipt.state == Delivered::unknown || receipt.state == Delivered::not_sent);
    ASSERT_FALSE(receipt.failure.message.empty());
    ASSERT_EQ(receipt.failure.maybe_done, receipt.state == Delivered::unknown);
  }
  EXPECT_EQ(ledger.size(), futures.size());
}

TEST(Producer, WhenTheBrokerDiesMidSendEveryRecordIsReportedAndTheHostLives) {
  BrokerThread broker;
  const Client client = open_client(broker, std::chrono::seconds(5));
  Ledger ledger;
  Producer producer = open_producer(client, options_for(ledger));
  std::atomic<std::size_t> accepted = 0;
  std::thread sender([&] {
    while (producer.send(std::string(100, 'x'))) {
      ++accepted;
    }
  });
  while (ledger.size() < 1'000) {
    std::this_thread::yield();
  }
  broker.stop();
  sender.join();
  EXPECT_FALSE(producer.close().has_value());
  EXPECT_EQ(ledger.size(), accepted);
  EXPECT_GE(ledger.count(Delivered::acknowledged), 1U);
  EXPECT_EQ(producer.send("x").has_value(), false);
}

TEST(Producer, ComesBackAfterALossAndReportsEverything) {
  BrokerThread broker;
  const Client client = open_client(broker, std::chrono::seconds(30), true);
  Ledger ledger;
  std::atomic<int> connected = 0;
  ProducerOptions options = options_for(ledger);
  options.on_connection = [&](const ConnectionEvent& event) {
    connected += event.state == ConnectionState::connected ? 1 : 0;
  };
  Producer producer = open_producer(client, options);
  broker.set_fault([](const wire::Request&, int number) -> std::optional<BrokerThread::Fault> {
    return number % 50 == 49 ? std::optional(BrokerThread::Fault{{}, Then::reset}) : std::nullopt;
  });
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(producer.send(std::string(100, 'x')).has_value());
  }
  const auto closed = producer.close();
  EXPECT_FALSE(closed.has_value());  // some are unknown
  EXPECT_EQ(ledger.size(), 20'000U);
  EXPECT_EQ(ledger.count(Delivered::acknowledged) + ledger.count(Delivered::unknown), 20'000U);
  EXPECT_GE(broker.records().size(), ledger.count(Delivered::acknowledged));
  EXPECT_GE(connected, 1);
}

TEST(Producer, WithoutAcksAFlushStillMeansTaken) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  ProducerOptions options = options_for(ledger);
  options.acks = Acks::none;
  Producer producer = open_producer(client, options);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(producer.send("x").has_value());
  }
  ASSERT_TRUE(producer.flush().has_value());
  EXPECT_EQ(broker.records().size(), 1'000U);
  EXPECT_EQ(ledger.count(Delivered::handed_over), 1'000U);
}

TEST(Producer, ARefusalIsReportedAndTheProducerGoesOn) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  Producer producer = open_producer(client, options_for(ledger));
  broker.set_fault([](const wire::Request& request, int) -> std::optional<BrokerThread::Fault> {
    return BrokerThread::Fault{client::error_frame(request.correlation_id, wire::WireError::record_too_large),
                               Then::go_on};
  });
  const Receipt receipt = producer.send_future("x").get();
  EXPECT_EQ(receipt.state, Delivered::refused);
  EXPECT_EQ(receipt.failure.kind, FailureKind::refused);
  EXPECT_EQ(receipt.failure.broker_error, BrokerError::record_too_large);
  EXPECT_EQ(producer.flush().error().kind, FailureKind::refused);
  broker.set_fault({});
  EXPECT_EQ(producer.send_future("y").get().state, Delivered::acknowledged);
  EXPECT_TRUE(producer.close().has_value());
}

TEST(Producer, BadArgumentsAreNamed) {
  BrokerThread broker(2);
  const Client client = open_client(broker);
  Ledger ledger;
  Producer producer = open_producer(client, options_for(ledger));
  EXPECT_EQ(producer.partition_count(), 2);
  EXPECT_EQ(producer.send("").error().kind, FailureKind::invalid);
  EXPECT_EQ(producer.send(std::string(9'000'000, 'x')).error().kind, FailureKind::invalid);
  EXPECT_EQ(producer.send_to(2, "x").error().kind, FailureKind::invalid);
  EXPECT_EQ(producer.send_to(-1, "x").error().kind, FailureKind::invalid);
  EXPECT_EQ(producer.send_to_future(7, "x").get().state, Delivered::not_sent);
  EXPECT_TRUE(producer.close().has_value());
  EXPECT_EQ(producer.send("x").error().kind, FailureKind::closed);
  EXPECT_EQ(producer.close().error().kind, FailureKind::closed);
  EXPECT_EQ(producer.flush().error().kind, FailureKind::closed);
  EXPECT_EQ(ledger.size(), 0U);

  ProducerOptions options = options_for(ledger);
  options.topic = "nobody";
  EXPECT_EQ(Producer::open(client, options).error().broker_error, BrokerError::unknown_topic_or_partition);
  options.topic = "not a name";
  EXPECT_EQ(Producer::open(client, options).error().kind, FailureKind::invalid);
  options = options_for(ledger);
  options.in_flight_max = 0;
  EXPECT_EQ(Producer::open(client, options).error().kind, FailureKind::invalid);
  options = options_for(ledger);
  options.send_timeout = std::chrono::milliseconds::max();
  EXPECT_EQ(Producer::open(client, options).error().kind, FailureKind::invalid);
}

TEST(Producer, ACallbackMayNotWaitButMaySendOn) {
  BrokerThread broker;
  const Client client = open_client(broker);
  Ledger ledger;
  Producer producer = open_producer(client, options_for(ledger));
  std::promise<FailureKind> flushed;
  std::promise<bool> sent;
  ASSERT_TRUE(producer
                  .send("first",
                        [&](const Receipt&) {
                          flushed.set_value(producer.flush().error().kind);
                          sent.set_value(producer.try_send("second").has_value());
                        })
                  .has_value());
  EXPECT_EQ(flushed.get_future().get(), FailureKind::invalid);
  EXPECT_TRUE(sent.get_future().get());
  ASSERT_TRUE(producer.close().has_value());
  EXPECT_EQ(broker.records(), (std::vector<std::string>{"first", "second"}));
}

TEST(Producer, MayBeDroppedInItsOwnCallback) {
  BrokerThread broker;
  Ledger ledger;
  std::promise<void> dropped;
  {
    auto producer = std::make_shared<std::optional<Producer>>();
    {
      const Client client = open_client(broker);
      *producer = open_producer(client, options_for(ledger));
    }
    // The last reference to the client's thread goes on that thread.
    ASSERT_TRUE((*producer)
                    ->send("x",
                           [producer, &dropped](const Receipt&) {
                             producer->reset();
                             dropped.set_value();
                           })
                    .has_value());
    dropped.get_future().get();
  }
  EXPECT_EQ(ledger.size(), 1U);
}

}  // namespace
}  // namespace booblik::library
