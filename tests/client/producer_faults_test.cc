// A producer whose broker refuses, lies, or goes away: every batch is reported exactly once, and what is said
// about it is true.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/producer.h"
#include "client/record_splitter.h"
#include "fake_broker.h"
#include "virtual_world.h"

namespace booblik::client {
namespace {

using State = Delivery::State;
using Then = FakeBroker::Fault::Then;

bool is_produce(const wire::Request& request) {
  return std::holds_alternative<wire::ProduceRequest>(request.body);
}

struct Story {
  std::map<std::uint64_t, std::vector<std::string>> batches;  // by number, as sent
  std::map<std::uint64_t, Delivery> deliveries;
  std::set<std::string> stored;
  int reported_twice = 0;
  Outcome<void> closed;
};

// Ends at the first loss; producer_reconnect_test.cc has the others.
using Fault = std::function<std::optional<FakeBroker::Fault>(const wire::Request&, int)>;

// Sends `count` records to one partition in batches of two.
Story produce(int count, StreamLimits limits, const Fault& fault,
              wire::AckPolicy acks = wire::AckPolicy::written) {
  VirtualWorld world;
  world.network.limits = limits;
  Story story;
  const bool finished = world.scheduler.run([&] {
    FakeBroker broker(world.roles);
    broker.add("t", 0);
    broker.fault = fault;
    ProducerOptions options;
    options.broker = broker.address();
    options.topic = "t";
    options.acks = acks;
    options.batch_records = 2;
    options.in_flight_max = 3;
    options.reconnect.enabled = false;
    options.on_delivery = [&story](const Delivery& delivery) {
      story.reported_twice += story.deliveries.emplace(delivery.batch, delivery).second ? 0 : 1;
    };
    auto producer = Producer::open(world.roles, options);
    if (!producer) {
      story.closed = std::unexpected(producer.error());
      return;
    }
    for (int i = 0; i < count; ++i) {
      const std::string value = "value " + std::to_string(i);
      const auto ticket = (*producer)->send(as_bytes(value));
      if (ticket) {
        story.batches[ticket->batch].push_back(value);
      }
    }
    story.closed = (*producer)->close();
    std::vector<Record> records;
    (void)split_records(broker.at("t", 0).log, Offset(0), records);
    for (const Record& record : records) {
      story.stored.emplace(as_text(record.value));
    }
  });
  EXPECT_TRUE(finished) << "it waits for ever";
  return story;
}

int count_of(const Story& story, State state) {
  int count = 0;
  for (const auto& [number, delivery] : story.deliveries) {
    count += delivery.state == state ? 1 : 0;
  }
  return count;
}

// What holds however things went.
void check_truth(const Story& story) {
  EXPECT_EQ(story.reported_twice, 0);
  EXPECT_EQ(story.deliveries.size(), story.batches.size());
  for (const auto& [number, delivery] : story.deliveries) {
    const auto& values = story.batches.at(number);
    EXPECT_EQ(static_cast<std::size_t>(delivery.records), values.size());
    for (const std::string& value : values) {
      if (delivery.state == State::acknowledged) {
        EXPECT_TRUE(story.stored.contains(value)) << value;
      }
      if (delivery.state == State::not_sent || delivery.state == State::refused) {
        EXPECT_FALSE(story.stored.contains(value)) << value;
      }
    }
    if (delivery.state != State::acknowledged && delivery.state != State::handed_over) {
      EXPECT_FALSE(story.closed.has_value());
    }
  }
}

TEST(ProducerFaults, ARefusedBatchIsReportedAndTheOthersGoOn) {
  const Story story =
      produce(10, {}, [](const wire::Request& request, int number) -> std::optional<FakeBroker::Fault> {
        if (is_produce(request) && number == 3) {
          return FakeBroker::Fault{error_frame(request.correlation_id, wire::WireError::record_too_large)};
        }
        return std::nullopt;
      });
  check_truth(story);
  EXPECT_EQ(count_of(story, State::refused), 1);
  EXPECT_EQ(count_of(story, State::acknowledged), 4);
  EXPECT_EQ(story.closed.error().refusal, wire::WireError::record_too_large);
}

TEST(ProducerFaults, AFailureOfTheConnectionAtEachRequestIsTold) {
  for (const Then then : {Then::close, Then::reset, Then::hang}) {
    for (int at = 1; at <= 5; ++at) {
      const Story story =
          produce(10, {}, [&](const wire::Request&, int number) -> std::optional<FakeBroker::Fault> {
            return number == at ? std::optional(FakeBroker::Fault{{}, then}) : std::nullopt;
          });
      check_truth(story);
      EXPECT_EQ(count_of(story, State::acknowledged), at - 1);
      EXPECT_GE(count_of(story, State::unknown), 1);
      EXPECT_EQ(story.closed.error().kind, then == Then::hang ? FailureKind::timed_out : FailureKind::lost);
    }
  }
}

TEST(ProducerFaults, AWrongAnswerEndsTheProducer) {
  for (const bool wrong_id : {true, false}) {
    const Story story =
        produce(10, {}, [&](const wire::Request& request, int number) -> std::optional<FakeBroker::Fault> {
          if (number != 2) {
            return std::nullopt;
          }
          std::vector<std::byte> frame(wire::kProduceResponseBytes);
          const std::int32_t id = request.correlation_id + (wrong_id ? 1 : 0);
          wire::put_produce_response(frame.data(), id, Offset(2), Offset(3));  // two records do not fit there
          return FakeBroker::Fault{frame};
        });
    check_truth(story);
    EXPECT_EQ(story.closed.error().kind, FailureKind::bad_answer);
    EXPECT_GE(count_of(story, State::acknowledged), 1);
  }
}

TEST(ProducerFaults, UnansweredRecordsOfALostConnectionDoNotPassAsFlushed) {
  const Story story = produce(
      10, {},
      [](const wire::Request&, int number) -> std::optional<FakeBroker::Fault> {
        return number == 3 ? std::optional(FakeBroker::Fault{{}, Then::reset}) : std::nullopt;
      },
      wire::AckPolicy::none);
  EXPECT_EQ(story.closed.error().kind, FailureKind::lost);
  EXPECT_EQ(story.deliveries.size(), story.batches.size());
}

TEST(ProducerFaults, ACutAtAnyByteIsToldTruly) {
  const Story whole = produce(12, {}, {});
  check_truth(whole);
  EXPECT_EQ(count_of(whole, State::acknowledged), 6);
  int failed_runs = 0;
  for (std::size_t cut = 1; cut < 700; ++cut) {
    const Story story = produce(12, {.piece_bytes = 13, .buffer_bytes = 50, .cut_after_bytes = cut}, {});
    check_truth(story);
    failed_runs += story.closed.has_value() ? 0 : 1;
  }
  EXPECT_GT(failed_runs, 300);
}

RC_GTEST_PROP(ProducerFaults, AnyMixIsToldTruly, ()) {
  const auto count = *rc::gen::inRange(1, 60);
  const StreamLimits limits{.piece_bytes = *rc::gen::inRange<std::size_t>(1, 100),
                            .buffer_bytes = *rc::gen::inRange<std::size_t>(10, 300),
                            .cut_after_bytes = *rc::gen::inRange<std::size_t>(1, 5000)};
  const auto wrong_at = *rc::gen::inRange(1, 40);
  const auto then = *rc::gen::element(Then::go_on, Then::close, Then::reset, Then::hang);
  const Story story = produce(
      count, limits, [&](const wire::Request& request, int number) -> std::optional<FakeBroker::Fault> {
        if (number != wrong_at) {
          return std::nullopt;
        }
        if (then == Then::go_on) {
          return FakeBroker::Fault{
              error_frame(request.correlation_id, wire::WireError::unknown_topic_or_partition)};
        }
        return FakeBroker::Fault{{}, then};
      });
  check_truth(story);
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace booblik::client
