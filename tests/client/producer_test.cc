#include "client/producer.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "client/partitioner.h"
#include "client/record_splitter.h"
#include "fake_broker.h"
#include "virtual_world.h"

namespace booblik::client {
namespace {

using State = Delivery::State;
using Then = FakeBroker::Fault::Then;

class ProducerTest : public testing::Test {
 protected:
  void with_broker(std::move_only_function<void(FakeBroker&)> body) {
    EXPECT_TRUE(world.scheduler.run([&] {
      FakeBroker broker(world.roles);
      for (std::int32_t partition = 0; partition < 3; ++partition) {
        broker.add("t", partition);
      }
      body(broker);
    }));
    EXPECT_EQ(world.scheduler.fibers(), 0U);  // none is left behind
  }

  std::unique_ptr<Producer> open(FakeBroker& broker, ProducerOptions options = {}) {
    options.broker = broker.address();
    options.topic = "t";
    options.on_delivery = [this](const Delivery& delivery) {
      deliveries.push_back(delivery);
      messages.push_back(delivery.failure != nullptr ? delivery.failure->message : "");
    };
    auto producer = Producer::open(world.roles, std::move(options));
    EXPECT_TRUE(producer.has_value());
    return std::move(*producer);
  }

  static std::vector<std::string> stored(FakeBroker& broker, std::int32_t partition) {
    std::vector<Record> records;
    (void)split_records(broker.at("t", partition).log, Offset(0), records);
    std::vector<std::string> values;
    for (const Record& record : records) {
      values.emplace_back(as_text(record.value));
    }
    return values;
  }

  void pass(Duration duration) { (void)world.scheduler.park(Deadline(world.scheduler.now() + duration)); }

  VirtualWorld world;
  std::vector<Delivery> deliveries;
  std::vector<std::string> messages;
};

TEST_F(ProducerTest, RoundRobinFillsThePartitionsInTurn) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(broker);
    EXPECT_EQ(producer->partition_count(), 3);
    for (const char* value : {"a", "b", "c", "d", "e"}) {
      ASSERT_TRUE(producer->send(as_bytes(value)).has_value());
    }
    EXPECT_TRUE(producer->close().has_value());
    EXPECT_EQ(stored(broker, 0), (std::vector<std::string>{"a", "d"}));
    EXPECT_EQ(stored(broker, 1), (std::vector<std::string>{"b", "e"}));
    EXPECT_EQ(stored(broker, 2), (std::vector<std::string>{"c"}));
  });
}

TEST_F(ProducerTest, AKeyChoosesItsPartition) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(broker);
    for (const char* key : {"user-1", "user-3", "я", ""}) {
      ASSERT_TRUE(producer->send_keyed(as_bytes(key), as_bytes("value")).has_value());
      ASSERT_TRUE(producer->flush().has_value());
      EXPECT_EQ(deliveries.back().partition, partition_for_key(as_bytes(key), 3)) << key;
    }
  });
}

TEST_F(ProducerTest, TicketsLeadToOffsets) {
  with_broker([&](FakeBroker& broker) {
    broker.at("t", 1).append(as_bytes("older"));
    auto producer = open(broker, {.broker = {}, .topic = {}, .batch_records = 3, .on_delivery = {}});
    std::map<std::string, Ticket> tickets;
    for (int i = 0; i < 10; ++i) {
      const std::string value = std::string("v").append(std::to_string(i));
      tickets[value] = *producer->send_to(PartitionId(1), as_bytes(value));
    }
    ASSERT_TRUE(producer->close().has_value());
    const auto values = stored(broker, 1);
    ASSERT_EQ(values.size(), 11U);
    for (const auto& [value, ticket] : tickets) {
      for (const Delivery& delivery : deliveries) {
        if (delivery.batch == ticket.batch) {
          EXPECT_EQ(delivery.state, State::acknowledged);
          EXPECT_LT(ticket.index, delivery.records);
          EXPECT_EQ(values[static_cast<std::size_t>((delivery.base_offset + ticket.index).value())], value);
        }
      }
    }
    EXPECT_EQ(deliveries.size(), 4U);
  });
}

TEST_F(ProducerTest, RefusesWhatTheProtocolHasNoPlaceForAndGoesOn) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(broker);
    EXPECT_EQ(producer->send({}).error().kind, FailureKind::invalid);
    const std::vector<std::byte> huge(wire::kMaxRecordPayloadBytes + 1, std::byte{1});
    EXPECT_EQ(producer->send(huge).error().kind, FailureKind::invalid);
    EXPECT_EQ(producer->send_to(PartitionId(3), as_bytes("x")).error().kind, FailureKind::refused);
    EXPECT_EQ(producer->send_to(PartitionId(-1), as_bytes("x")).error().kind, FailureKind::refused);
    EXPECT_TRUE(producer->send(as_bytes("fine")).has_value());
    EXPECT_TRUE(producer->close().has_value());
    EXPECT_EQ(stored(broker, 0), std::vector<std::string>{"fine"});
  });
}

TEST_F(ProducerTest, AnUnknownTopicIsRefusedAtOnce) {
  with_broker([&](FakeBroker& broker) {
    ProducerOptions options;
    options.broker = broker.address();
    options.topic = "missing";
    auto producer = Producer::open(world.roles, options);
    ASSERT_FALSE(producer.has_value());
    EXPECT_EQ(producer.error().refusal, wire::WireError::unknown_topic_or_partition);
    options.topic = "not a name";
    EXPECT_EQ(Producer::open(world.roles, options).error().kind, FailureKind::invalid);
  });
}

TEST_F(ProducerTest, LingerWaitsForMoreButNotForEver) {
  with_broker([&](FakeBroker& broker) {
    auto producer =
        open(broker, {.broker = {}, .topic = {}, .linger = std::chrono::seconds(1), .on_delivery = {}});
    ASSERT_TRUE(producer->send_to(PartitionId(0), as_bytes("a")).has_value());
    pass(std::chrono::milliseconds(900));
    ASSERT_TRUE(producer->send_to(PartitionId(0), as_bytes("b")).has_value());
    EXPECT_EQ(broker.produces, 0);
    pass(std::chrono::milliseconds(101));
    EXPECT_EQ(broker.produces, 1);
    EXPECT_EQ(stored(broker, 0), (std::vector<std::string>{"a", "b"}));
  });
}

TEST_F(ProducerTest, FlushDoesNotLinger) {
  with_broker([&](FakeBroker& broker) {
    auto producer =
        open(broker, {.broker = {}, .topic = {}, .linger = std::chrono::hours(1), .on_delivery = {}});
    const Instant before = world.scheduler.now();
    ASSERT_TRUE(producer->send(as_bytes("a")).has_value());
    EXPECT_TRUE(producer->flush().has_value());
    EXPECT_EQ(world.scheduler.now(), before);
    EXPECT_EQ(deliveries.size(), 1U);
  });
}

TEST_F(ProducerTest, KeepsToTheWindowAndTheBufferWhileTheBrokerIsSilent) {
  with_broker([&](FakeBroker& broker) {
    int unanswered = 0;
    broker.fault = [&](const wire::Request& request, int) -> std::optional<FakeBroker::Fault> {
      if (std::holds_alternative<wire::ProduceRequest>(request.body)) {
        ++unanswered;
        return FakeBroker::Fault{};
      }
      return std::nullopt;
    };
    auto producer = open(broker, {.broker = {},
                                  .topic = {},
                                  .batch_bytes = 100,
                                  .in_flight_max = 4,
                                  .buffered_bytes_max = 1000,
                                  .request_timeout = std::chrono::seconds(2),
                                  .reconnect = {.enabled = false},
                                  .on_delivery = {}});
    std::size_t accepted = 0;
    Outcome<Ticket> sent;
    while ((sent = producer->send(as_bytes(std::string(50, 'x'))))) {
      ++accepted;
      ASSERT_LT(accepted, 100U);
    }
    EXPECT_EQ(sent.error().kind, FailureKind::timed_out);
    EXPECT_EQ(unanswered, 4);
    EXPECT_LE(accepted, 4U + 1000U / 50U);
    EXPECT_GE(accepted, 10U);
    EXPECT_FALSE(producer->close().has_value());
    std::map<State, std::int32_t> records;
    for (const Delivery& delivery : deliveries) {
      records[delivery.state] += delivery.records;
    }
    EXPECT_EQ(records[State::unknown], 4);
    EXPECT_EQ(static_cast<std::size_t>(records[State::unknown] + records[State::not_sent]), accepted);
  });
}

TEST_F(ProducerTest, ABlockedSendGoesOnWhenThereIsRoom) {
  world.network.limits = {.piece_bytes = 7, .buffer_bytes = 64};
  with_broker([&](FakeBroker& broker) {
    auto producer =
        open(broker,
             {.broker = {}, .topic = {}, .batch_bytes = 100, .buffered_bytes_max = 300, .on_delivery = {}});
    std::vector<std::string> expected;
    for (int i = 0; i < 500; ++i) {
      expected.push_back("record " + std::to_string(i));
      ASSERT_TRUE(producer->send_to(PartitionId(2), as_bytes(expected.back())).has_value());
    }
    ASSERT_TRUE(producer->close().has_value());
    EXPECT_EQ(stored(broker, 2), expected);
  });
}

TEST_F(ProducerTest, AFullBufferDoesNotCutBatchesSmall) {
  world.network.limits.piece_bytes = 100;  // a send takes its time
  world.network.limits.buffer_bytes = 1000;
  with_broker([&](FakeBroker& broker) {
    auto producer = open(broker, {.broker = {},
                                  .topic = {},
                                  .batch_bytes = 10'000,
                                  .linger = std::chrono::hours(1),
                                  .in_flight_max = 2,
                                  .buffered_bytes_max = 15'000,  // less than a batch for each partition
                                  .on_delivery = {}});
    constexpr int kRecords = 30'000;
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(producer->send(as_bytes(std::string(46, 'x'))).has_value());
    }
    ASSERT_TRUE(producer->close().has_value());
    EXPECT_LE(broker.produces, 3 * kRecords * 50 / 10'000);  // batches are a third full or more
  });
}

TEST_F(ProducerTest, FlushOfUnansweredRecordsWaitsUntilTheBrokerHasThem) {
  world.network.limits = {.piece_bytes = 3, .buffer_bytes = 64};
  with_broker([&](FakeBroker& broker) {
    auto producer =
        open(broker, {.broker = {}, .topic = {}, .acks = wire::AckPolicy::none, .on_delivery = {}});
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(producer->send_to(PartitionId(0), as_bytes("x")).has_value());
      }
      ASSERT_TRUE(producer->flush().has_value());
      EXPECT_EQ(stored(broker, 0).size(), 100U * static_cast<std::size_t>(round + 1));
    }
    for (const Delivery& delivery : deliveries) {
      EXPECT_EQ(delivery.state, State::handed_over);
    }
    EXPECT_TRUE(producer->close().has_value());
  });
}

TEST_F(ProducerTest, AfterCloseNothingIsTaken) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(broker);
    EXPECT_TRUE(producer->close().has_value());
    EXPECT_EQ(producer->send(as_bytes("x")).error().kind, FailureKind::closed);
    EXPECT_EQ(producer->close().error().kind, FailureKind::closed);
  });
}

TEST_F(ProducerTest, DroppingItReportsWhatWasNotSeenThrough) {
  with_broker([&](FakeBroker& broker) {
    auto producer =
        open(broker, {.broker = {}, .topic = {}, .linger = std::chrono::hours(1), .on_delivery = {}});
    ASSERT_TRUE(producer->send(as_bytes("x")).has_value());
    producer.reset();
    ASSERT_EQ(deliveries.size(), 1U);
    EXPECT_EQ(deliveries[0].state, State::not_sent);
    EXPECT_EQ(broker.produces, 0);
  });
}

}  // namespace
}  // namespace booblik::client
