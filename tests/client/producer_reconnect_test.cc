// A producer whose broker goes away and comes back: what was in flight is unknown, nothing is sent twice,
// what was not sent goes out in its order, and every record is told of.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "client/producer.h"
#include "client/record_splitter.h"
#include "fake_broker.h"
#include "virtual_world.h"

namespace booblik::client {
namespace {

std::string value_of(std::int64_t number) {
  return std::string("v").append(std::to_string(number));
}

using State = Delivery::State;
using Then = FakeBroker::Fault::Then;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool is_produce(const wire::Request& request) {
  return std::holds_alternative<wire::ProduceRequest>(request.body);
}

struct Event {
  ConnectionState state;
  std::uint64_t attempt;
  Duration pause;
  FailureKind kind;
};

class ProducerReconnect : public testing::Test {
 protected:
  void with_broker(std::move_only_function<void(FakeBroker&)> body) {
    EXPECT_TRUE(world.scheduler.run([&] {
      FakeBroker broker(world.roles);
      broker.add("t", 0);
      body(broker);
    }));
    EXPECT_EQ(world.scheduler.fibers(), 0U);
  }

  ProducerOptions options(FakeBroker& broker) {
    ProducerOptions options;
    options.broker = broker.address();
    options.topic = "t";
    options.batch_records = 2;
    options.in_flight_max = 3;
    options.on_delivery = [this](const Delivery& delivery) {
      deliveries.push_back(delivery);
      kinds.push_back(delivery.failure != nullptr ? delivery.failure->kind : FailureKind::invalid);
    };
    options.on_connection = [this](const ConnectionEvent& event) {
      events.push_back({event.state, event.attempt, event.pause,
                        event.failure != nullptr ? event.failure->kind : FailureKind::invalid});
    };
    return options;
  }

  std::unique_ptr<Producer> open(const ProducerOptions& options) {
    auto producer = Producer::open(world.roles, options);
    EXPECT_TRUE(producer.has_value());
    return std::move(*producer);
  }

  void send(Producer& producer, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      ASSERT_TRUE(producer.send(as_bytes(value_of(i))).has_value());
    }
  }

  static std::vector<std::string> stored(FakeBroker& broker) {
    std::vector<Record> records;
    (void)split_records(broker.at("t", 0).log, Offset(0), records);
    std::vector<std::string> values;
    for (const Record& record : records) {
      values.emplace_back(as_text(record.value));
    }
    return values;
  }

  std::int64_t records_told(State state) const {
    std::int64_t records = 0;
    for (const Delivery& delivery : deliveries) {
      records += delivery.state == state ? delivery.records : 0;
    }
    return records;
  }

  void pass(Duration duration) { (void)world.scheduler.park(Deadline(world.scheduler.now() + duration)); }

  VirtualWorld world;
  std::vector<Delivery> deliveries;
  std::vector<FailureKind> kinds;
  std::vector<Event> events;
};

TEST_F(ProducerReconnect, WhatWasInFlightIsUnknownAndWhatWasNotSentFollows) {
  with_broker([&](FakeBroker& broker) {
    bool silent = true;
    broker.fault = [&](const wire::Request& request, int) -> std::optional<FakeBroker::Fault> {
      return silent && is_produce(request) ? std::optional(FakeBroker::Fault{}) : std::nullopt;
    };
    auto producer = open(options(broker));
    send(*producer, 0, 20);  // three batches are in flight, seven wait
    pass(milliseconds(1));
    silent = false;
    broker.stop();
    pass(seconds(10));
    EXPECT_FALSE(producer->connected());
    broker.start();
    const auto closed = producer->close();
    ASSERT_FALSE(closed.has_value());
    EXPECT_EQ(closed.error().kind, FailureKind::lost);
    EXPECT_EQ(records_told(State::unknown), 6);
    EXPECT_EQ(records_told(State::acknowledged), 14);
    EXPECT_EQ(deliveries.size(), 10U);
    std::vector<std::string> expected;
    for (int i = 6; i < 20; ++i) {
      expected.push_back(value_of(i));
    }
    EXPECT_EQ(stored(broker), expected);
    EXPECT_EQ(producer->reconnects(), 1U);
  });
}

TEST_F(ProducerReconnect, AnIdleConnectionThatHasEndedCostsNoRecord) {
  with_broker([&](FakeBroker& broker) {
    for (const auto acks : {wire::AckPolicy::written, wire::AckPolicy::none}) {
      deliveries.clear();
      auto with = options(broker);
      with.acks = acks;
      auto producer = open(with);
      send(*producer, 0, 2);
      ASSERT_TRUE(producer->flush().has_value());
      broker.stop();
      broker.start();
      send(*producer, 2, 2);
      EXPECT_TRUE(producer->close().has_value());
      EXPECT_EQ(deliveries.size(), 2U);
      EXPECT_EQ(records_told(State::unknown), 0);
      EXPECT_EQ(producer->reconnects(), 1U);
    }
    EXPECT_EQ(stored(broker).size(), 8U);
  });
}

TEST_F(ProducerReconnect, ABrokerThatStaysAwayIsGivenUp) {
  with_broker([&](FakeBroker& broker) {
    auto with = options(broker);
    with.reconnect.give_up_after = seconds(20);
    auto producer = open(with);
    send(*producer, 0, 2);
    ASSERT_TRUE(producer->flush().has_value());
    broker.stop();
    const Instant before = world.scheduler.now();
    send(*producer, 2, 5);
    const auto flushed = producer->flush();
    ASSERT_FALSE(flushed.has_value());
    EXPECT_EQ(flushed.error().kind, FailureKind::unreachable);
    EXPECT_TRUE(flushed.error().message.contains("gave up after")) << flushed.error().message;
    EXPECT_GE(world.scheduler.now() - before, seconds(20));
    EXPECT_LE(world.scheduler.now() - before, seconds(25));
    EXPECT_EQ(records_told(State::not_sent), 5);
    EXPECT_EQ(events.back().state, ConnectionState::gave_up);
    broker.start();
    EXPECT_EQ(producer->send(as_bytes("late")).error().kind, FailureKind::unreachable);
    EXPECT_FALSE(producer->close().has_value());
  });
}

TEST_F(ProducerReconnect, PausesGrowToTheirLimitAndAreDrawn) {
  with_broker([&](FakeBroker& broker) {
    auto with = options(broker);
    with.reconnect = {
        .pause_first = milliseconds(100), .pause_max = seconds(2), .give_up_after = seconds(30)};
    auto producer = open(with);
    broker.stop();
    send(*producer, 0, 1);
    EXPECT_FALSE(producer->close().has_value());
    ASSERT_GT(events.size(), 10U);
    EXPECT_EQ(events[0].pause, Duration(0));  // the first attempt comes at once
    Duration full = milliseconds(100);
    bool drawn = false;
    for (std::size_t i = 1; i + 1 < events.size(); ++i) {
      EXPECT_EQ(events[i].state, ConnectionState::reconnecting);
      EXPECT_EQ(events[i].attempt, i + 1);
      EXPECT_GE(events[i].pause, full / 2);
      EXPECT_LE(events[i].pause, full);
      drawn |= events[i].pause != full;
      full = std::min<Duration>(full * 2, seconds(2));
    }
    EXPECT_TRUE(drawn);
  });
}

TEST_F(ProducerReconnect, ABrokerThatTakesNothingCostsOneBatchForEachConnection) {
  with_broker([&](FakeBroker& broker) {
    auto with = options(broker);
    with.reconnect.give_up_after = seconds(30);
    auto producer = open(with);
    broker.fault = [&](const wire::Request& request, int) -> std::optional<FakeBroker::Fault> {
      return is_produce(request) ? std::optional(FakeBroker::Fault{{}, Then::close}) : std::nullopt;
    };
    send(*producer, 0, 1000);
    EXPECT_FALSE(producer->close().has_value());
    EXPECT_LE(records_told(State::unknown), 2 * (broker.connections + 2));  // the first had three in flight
    EXPECT_GT(broker.connections, 5);
    EXPECT_LT(broker.connections, 40);  // pauses, though each attempt succeeds
    EXPECT_EQ(records_told(State::unknown) + records_told(State::not_sent), 1000);
  });
}

TEST_F(ProducerReconnect, AfterALossOneBatchTestsTheConnectionThenTheWindowOpens) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(options(broker));
    broker.stop();
    broker.start();
    int produces = 0;
    broker.fault = [&](const wire::Request& request, int) -> std::optional<FakeBroker::Fault> {
      produces += is_produce(request) ? 1 : 0;
      return is_produce(request) ? std::optional(FakeBroker::Fault{}) : std::nullopt;
    };
    send(*producer, 0, 20);
    pass(seconds(1));
    EXPECT_EQ(produces, 1);
    producer->interrupt();
    EXPECT_FALSE(producer->close().has_value());
  });
}

// When a world ends its fibers are unwound one by one: those of a producer, with the connection that they are
// making, before the one that has the producer. Found by the simulator; AddressSanitizer sees what goes
// wrong.
TEST_F(ProducerReconnect, FibersMayBeUnwoundWhileItAsksForTheTopic) {
  auto scheduler = std::make_unique<VirtualScheduler>();
  VirtualNetwork network(*scheduler);
  const Roles roles{*scheduler, *scheduler, network, world.random};
  const bool finished = scheduler->run([&] {
    auto broker = std::make_unique<FakeBroker>(roles);
    broker->add("t", 0);
    auto producer = *Producer::open(roles, options(*broker));
    scheduler->spawn("keeper", [&, kept_broker = std::move(broker), kept = std::move(producer)] {
      kept_broker->stop();
      kept_broker->start();
      kept_broker->fault = [](const wire::Request&, int) { return FakeBroker::Fault{{}, Then::hang}; };
      ASSERT_TRUE(kept->send(as_bytes("value")).has_value());
      (void)scheduler->park(Deadline::never());
    });
    (void)scheduler->park(Deadline(scheduler->now() + seconds(1)));
    EXPECT_FALSE(events.empty()) << "the connection was lost, and the next one is made";
  });
  EXPECT_TRUE(finished);
  scheduler.reset();
}

TEST_F(ProducerReconnect, AnotherNumberOfPartitionsIsTheEnd) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(options(broker));
    broker.stop();
    broker.add("t", 1);
    broker.start();
    send(*producer, 0, 3);
    EXPECT_EQ(producer->close().error().kind, FailureKind::topic_changed);
    EXPECT_EQ(records_told(State::not_sent), 3);
  });
}

TEST_F(ProducerReconnect, LostRecordsWithoutAnAcknowledgementFailTheFlush) {
  with_broker([&](FakeBroker& broker) {
    auto with = options(broker);
    with.acks = wire::AckPolicy::none;
    auto producer = open(with);
    broker.fault = [&](const wire::Request&, int number) -> std::optional<FakeBroker::Fault> {
      return number == 1 ? std::optional(FakeBroker::Fault{{}, Then::reset}) : std::nullopt;
    };
    send(*producer, 0, 10);
    EXPECT_EQ(producer->flush().error().kind, FailureKind::lost);
    send(*producer, 10, 2);
    EXPECT_TRUE(producer->flush().has_value());
    EXPECT_TRUE(producer->close().has_value());
    EXPECT_EQ(stored(broker).back(), "v11");
  });
}

TEST_F(ProducerReconnect, GivingUpEndsTheWaitForABroker) {
  with_broker([&](FakeBroker& broker) {
    auto with = options(broker);
    with.reconnect.give_up_after = Duration::max();
    auto producer = open(with);
    broker.stop();
    send(*producer, 0, 4);
    world.scheduler.spawn("impatient", [&] {
      pass(seconds(100));
      producer->give_up();
    });
    const Instant before = world.scheduler.now();
    EXPECT_EQ(producer->close().error().kind, FailureKind::closed);
    EXPECT_LE(world.scheduler.now() - before, seconds(100));
    EXPECT_EQ(records_told(State::not_sent), 4);
  });
}

TEST_F(ProducerReconnect, GivingUpStillTakesTheAnswersThatAreDue) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(options(broker));
    send(*producer, 0, 6);
    world.scheduler.yield();
    producer->give_up();
    EXPECT_EQ(producer->send(as_bytes("x")).error().kind, FailureKind::closed);
    EXPECT_FALSE(producer->close().has_value());
    EXPECT_EQ(records_told(State::unknown), 0);
    EXPECT_EQ(static_cast<std::size_t>(records_told(State::acknowledged)), stored(broker).size());
    EXPECT_EQ(records_told(State::acknowledged) + records_told(State::not_sent), 6);
  });
}

TEST_F(ProducerReconnect, DroppingItWhileTheBrokerIsAwayReportsEverything) {
  with_broker([&](FakeBroker& broker) {
    auto producer = open(options(broker));
    broker.stop();
    send(*producer, 0, 4);
    pass(seconds(3));
    producer.reset();
    EXPECT_EQ(records_told(State::not_sent), 4);
    EXPECT_EQ(kinds.back(), FailureKind::closed);
  });
}

// What holds whatever breaks: each batch told once; acknowledged ones lie where they were said to; those not
// sent are absent; nothing is there twice or out of order.
RC_GTEST_PROP(ProducerReconnectProperty, AnyLossesAreToldTruly, ()) {
  const auto count = *rc::gen::inRange(1, 120);
  VirtualWorld world;
  world.network.limits = {.piece_bytes = *rc::gen::inRange<std::size_t>(1, 100),
                          .buffer_bytes = *rc::gen::inRange<std::size_t>(10, 300),
                          .cut_after_bytes = *rc::gen::inRange<std::size_t>(40, 1500)};
  const auto faults = *rc::gen::container<std::map<int, Then>>(
      rc::gen::inRange(1, 60), rc::gen::element(Then::close, Then::reset, Then::hang));
  std::map<std::uint64_t, std::vector<std::string>> batches;
  std::map<std::uint64_t, Delivery> deliveries;
  std::vector<std::string> values;
  int told_twice = 0;
  RC_ASSERT(world.scheduler.run([&] {
    FakeBroker broker(world.roles);
    broker.add("t", 0);
    broker.fault = [&](const wire::Request&, int number) -> std::optional<FakeBroker::Fault> {
      const auto fault = faults.find(number);
      return fault != faults.end() ? std::optional(FakeBroker::Fault{{}, fault->second}) : std::nullopt;
    };
    ProducerOptions options;
    options.broker = broker.address();
    options.topic = "t";
    options.batch_records = 2;
    options.in_flight_max = 3;
    options.buffered_bytes_max = 200;
    options.on_delivery = [&](const Delivery& delivery) {
      told_twice += deliveries.emplace(delivery.batch, delivery).second ? 0 : 1;
    };
    auto producer = Producer::open(world.roles, options);
    if (!producer) {
      return;
    }
    for (int i = 0; i < count; ++i) {
      const std::string value = "value " + std::to_string(1000 + i);
      if (const auto ticket = (*producer)->send(as_bytes(value))) {
        batches[ticket->batch].push_back(value);
      }
    }
    (void)(*producer)->close();
    std::vector<Record> records;
    (void)split_records(broker.at("t", 0).log, Offset(0), records);
    for (const Record& record : records) {
      values.emplace_back(as_text(record.value));
    }
  }));
  RC_ASSERT(told_twice == 0);
  RC_ASSERT(deliveries.size() == batches.size());
  RC_ASSERT(std::ranges::is_sorted(values));
  RC_ASSERT(std::ranges::adjacent_find(values) == values.end());
  for (const auto& [number, delivery] : deliveries) {
    const auto& sent = batches.at(number);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (delivery.state == State::acknowledged) {
        RC_ASSERT(values.at(static_cast<std::size_t>(delivery.base_offset.value()) + i) == sent[i]);
      }
      if (delivery.state == State::not_sent) {
        RC_ASSERT(!std::ranges::binary_search(values, sent[i]));
      }
    }
  }
}

}  // namespace
}  // namespace booblik::client
