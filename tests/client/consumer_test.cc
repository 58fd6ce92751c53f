#include "client/consumer.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fake_broker.h"
#include "virtual_world.h"

namespace booblik::client {
namespace {

using Then = FakeBroker::Fault::Then;

class ConsumerTest : public testing::Test {
 protected:
  // A broker with topic "t" whose partition 0 has the records "v0", "v1", ... from `log_start` on.
  void with_broker(int records, std::move_only_function<void(FakeBroker&)> body, std::int64_t log_start = 0) {
    EXPECT_TRUE(world.scheduler.run([&] {
      FakeBroker broker(world.roles);
      broker.add("t", 0).log_start = Offset(log_start);
      for (int i = 0; i < records; ++i) {
        broker.at("t", 0).append(as_bytes(std::string("v").append(std::to_string(log_start + i))));
      }
      body(broker);
    }));
  }

  std::unique_ptr<Consumer> open(FakeBroker& broker, Start start = {}, std::int32_t max_bytes = 1000) {
    ConsumerOptions options{
        .broker = broker.address(), .topic = "t", .partition = PartitionId(0), .start = start};
    options.max_bytes = max_bytes;
    auto consumer = Consumer::open(world.roles, options);
    EXPECT_TRUE(consumer.has_value());
    return std::move(*consumer);
  }

  static std::vector<std::string> values(const Outcome<ConsumedBatch>& batch) {
    std::vector<std::string> result;
    EXPECT_TRUE(batch.has_value()) << batch.error().message;
    if (batch) {
      for (const Record& record : batch->records) {
        result.emplace_back(as_text(record.value));
      }
    }
    return result;
  }

  Deadline in(Duration duration) { return Deadline(world.scheduler.now() + duration); }

  VirtualWorld world;
};

TEST_F(ConsumerTest, StartsWhereItIsTold) {
  with_broker(
      5,
      [&](FakeBroker& broker) {
        EXPECT_EQ(open(broker, {Start::At::beginning, 0})->position(), Offset(10));
        EXPECT_EQ(open(broker, {Start::At::end, 0})->position(), Offset(15));
        EXPECT_EQ(open(broker, {Start::At::offset, 12})->position(), Offset(12));
        EXPECT_EQ(open(broker, {Start::At::before_end, 2})->position(), Offset(13));
        EXPECT_EQ(open(broker, {Start::At::before_end, 100})->position(), Offset(10));
        EXPECT_EQ(open(broker)->start_offset(), Offset(10));
        EXPECT_EQ(open(broker)->end_offset(), Offset(15));
      },
      10);
}

TEST_F(ConsumerTest, PollGivesRecordsWithOffsetsThenNothing) {
  with_broker(3, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    const auto batch = consumer->poll();
    EXPECT_EQ(values(batch), (std::vector<std::string>{"v0", "v1", "v2"}));
    EXPECT_EQ(batch->records[2].offset, Offset(2));
    EXPECT_EQ(batch->next, Offset(3));
    EXPECT_EQ(batch->high_watermark, Offset(3));
    EXPECT_EQ(consumer->position(), Offset(3));
    EXPECT_TRUE(values(consumer->poll()).empty());
    consumer->seek(Offset(1));
    EXPECT_EQ(values(consumer->poll()), (std::vector<std::string>{"v1", "v2"}));
  });
}

TEST_F(ConsumerTest, EveryMaxBytesThatHoldsARecordGivesTheWholeLog) {
  with_broker(30, [&](FakeBroker& broker) {
    for (std::int32_t max_bytes = 11; max_bytes < 120; ++max_bytes) {  // "v29" and its header
      auto consumer = open(broker, {}, max_bytes);
      std::vector<std::string> all;
      while (true) {
        const auto some = values(consumer->poll());
        if (some.empty()) {
          break;
        }
        all.insert(all.end(), some.begin(), some.end());
      }
      ASSERT_EQ(all.size(), 30U) << max_bytes;
      EXPECT_EQ(all.back(), "v29");
    }
  });
}

TEST_F(ConsumerTest, NamesARecordThatExceedsMaxBytes) {
  with_broker(1, [&](FakeBroker& broker) {
    broker.at("t", 0).append(as_bytes(std::string(500, 'x')));
    for (const std::int32_t max_bytes : {507, 100, 11, 10}) {
      auto consumer = open(broker, {}, max_bytes);
      EXPECT_EQ(values(consumer->poll()), std::vector<std::string>{"v0"});
      for (int again = 0; again < 2; ++again) {
        const auto batch = consumer->poll();
        ASSERT_FALSE(batch.has_value());
        EXPECT_EQ(batch.error().kind, FailureKind::record_exceeds_max_bytes);
        EXPECT_EQ(batch.error().record_bytes, 500);
        EXPECT_EQ(batch.error().offset, Offset(1));
        EXPECT_TRUE(batch.error().message.contains("t-0 @ 1")) << batch.error().message;
        EXPECT_TRUE(batch.error().message.contains("500")) << batch.error().message;
      }
    }
    // Not even the size fits: it is asked for.
    for (const std::int32_t max_bytes : {1, 3, 4, 7, 8, 9}) {
      const auto batch = open(broker, {}, max_bytes)->poll();
      ASSERT_FALSE(batch.has_value());
      EXPECT_EQ(batch.error().kind, FailureKind::record_exceeds_max_bytes) << batch.error().message;
      EXPECT_EQ(batch.error().record_bytes, 2);
    }
  });
}

TEST_F(ConsumerTest, RecordsBeforeACorruptOneComeFirst) {
  with_broker(3, [&](FakeBroker& broker) {
    broker.at("t", 0).log[broker.at("t", 0).positions[2] + 8] ^= std::byte{1};
    auto consumer = open(broker);
    EXPECT_EQ(values(consumer->poll()), (std::vector<std::string>{"v0", "v1"}));
    const auto batch = consumer->poll();
    ASSERT_FALSE(batch.has_value());
    EXPECT_EQ(batch.error().kind, FailureKind::corrupt_record);
    EXPECT_EQ(batch.error().offset, Offset(2));
    EXPECT_EQ(consumer->position(), Offset(2));
    consumer->seek(Offset(3));
    EXPECT_TRUE(values(consumer->poll()).empty());
  });
}

TEST_F(ConsumerTest, ARecordThatTheLogEndsInsideIsCorruptAndNotTooLarge) {
  with_broker(3, [&](FakeBroker& broker) {
    broker.at("t", 0).log.resize(broker.at("t", 0).positions[2] + 9);
    auto consumer = open(broker);
    EXPECT_EQ(values(consumer->poll()), (std::vector<std::string>{"v0", "v1"}));
    const auto batch = consumer->poll();
    ASSERT_FALSE(batch.has_value());
    EXPECT_EQ(batch.error().kind, FailureKind::corrupt_record);
    EXPECT_EQ(batch.error().offset, Offset(2));
  });
}

TEST_F(ConsumerTest, TellsAResetLogFromOneThatRetentionHasShortened) {
  with_broker(
      5,
      [&](FakeBroker& broker) {
        auto below = open(broker, {Start::At::offset, 9})->poll();
        ASSERT_FALSE(below.has_value());
        EXPECT_EQ(below.error().kind, FailureKind::offset_out_of_range);
        EXPECT_TRUE(below.error().message.contains("starts at 10")) << below.error().message;
        auto consumer = open(broker, {Start::At::offset, 16});
        auto above = consumer->poll();
        ASSERT_FALSE(above.has_value());
        EXPECT_EQ(above.error().kind, FailureKind::log_reset);
        EXPECT_TRUE(above.error().message.contains("log was reset below my position"))
            << above.error().message;
        consumer->seek(Offset(14));
        EXPECT_EQ(values(consumer->poll()), std::vector<std::string>{"v14"});
      },
      10);
}

// The reason is asked for in a second request, and the log has moved on meanwhile.
TEST_F(ConsumerTest, AResetLogThatHasGrownPastThePositionMeanwhileWasReset) {
  with_broker(5, [&](FakeBroker& broker) {
    auto consumer = open(broker, {Start::At::offset, 6});
    broker.fault = [&](const wire::Request& request, int) -> std::optional<FakeBroker::Fault> {
      for (int i = 0; i < 3 && std::holds_alternative<wire::MetadataRequest>(request.body); ++i) {
        broker.at("t", 0).append(as_bytes("newer"));
      }
      return std::nullopt;
    };
    EXPECT_EQ(consumer->poll().error().kind, FailureKind::log_reset);
  });
}

TEST_F(ConsumerTest, ARecordThatRetentionTakesBeforeItsSizeIsKnownIsOutOfRange) {
  with_broker(5, [&](FakeBroker& broker) {
    auto consumer = open(broker, {}, 3);
    int fetches = 0;
    broker.fault = [&](const wire::Request& request, int) -> std::optional<FakeBroker::Fault> {
      if (std::holds_alternative<wire::FetchRequest>(request.body) && ++fetches == 2) {
        FakeBroker::Partition& partition = broker.at("t", 0);
        partition.log_start = partition.end();
        partition.log.clear();
        partition.positions.clear();
      }
      return std::nullopt;
    };
    const auto batch = consumer->poll();
    ASSERT_FALSE(batch.has_value());
    EXPECT_EQ(batch.error().kind, FailureKind::offset_out_of_range);
    EXPECT_EQ(fetches, 2);
  });
}

TEST_F(ConsumerTest, ARecordWhoseSizeHasRottedIsCorruptHoweverLittleIsAskedFor) {
  with_broker(1, [&](FakeBroker& broker) {
    std::ranges::fill_n(broker.at("t", 0).log.begin(), 4, std::byte{0});
    for (const std::int32_t max_bytes : {3, 11, 1000}) {
      const auto batch = open(broker, {}, max_bytes)->poll();
      ASSERT_FALSE(batch.has_value());
      EXPECT_EQ(batch.error().kind, FailureKind::corrupt_record) << max_bytes;
      EXPECT_EQ(batch.error().offset, Offset(0));
    }
  });
}

TEST_F(ConsumerTest, FollowWaitsForRecords) {
  with_broker(0, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    world.scheduler.spawn("writer", [&] {
      (void)world.scheduler.park(in(std::chrono::minutes(5)));  // longer than one hold
      broker.at("t", 0).append(as_bytes("late"));
      broker.appended();
    });
    const Instant before = world.scheduler.now();
    EXPECT_EQ(values(consumer->follow(Deadline::never())), std::vector<std::string>{"late"});
    EXPECT_EQ(world.scheduler.now() - before, std::chrono::minutes(5));
  });
}

TEST_F(ConsumerTest, FollowEndsAtItsDeadline) {
  with_broker(0, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    const Instant before = world.scheduler.now();
    EXPECT_TRUE(values(consumer->follow(in(std::chrono::milliseconds(1500)))).empty());
    EXPECT_EQ(world.scheduler.now() - before, std::chrono::milliseconds(1500));
    EXPECT_TRUE(values(consumer->follow(Deadline::immediately())).empty());
  });
}

TEST_F(ConsumerTest, InterruptEndsAFollow) {
  with_broker(0, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    world.scheduler.spawn("interrupter", [&] { consumer->interrupt(); });
    EXPECT_EQ(consumer->follow(Deadline::never()).error().kind, FailureKind::closed);
    EXPECT_EQ(consumer->poll().error().kind, FailureKind::closed);
  });
}

TEST_F(ConsumerTest, ReplayStopsAtTheWatermarkOfItsStart) {
  with_broker(3, [&](FakeBroker& broker) {
    auto consumer = open(broker);
    for (int i = 0; i < 10; ++i) {
      broker.at("t", 0).append(as_bytes("newer"));
    }
    EXPECT_EQ(values(consumer->replay()), (std::vector<std::string>{"v0", "v1", "v2"}));
    EXPECT_EQ(consumer->position(), Offset(3));
    const int requests = broker.requests;
    EXPECT_TRUE(values(consumer->replay()).empty());
    EXPECT_EQ(broker.requests, requests);
    EXPECT_EQ(values(consumer->poll()).size(), 10U);  // poll goes beyond
    consumer->seek(Offset(5));
    EXPECT_TRUE(values(consumer->replay()).empty());
    EXPECT_EQ(consumer->position(), Offset(5));
    consumer->seek(Offset(14));
    EXPECT_EQ(consumer->replay().error().kind, FailureKind::log_reset);
  });
}

// Frames that no right broker sends: each is an error, and none makes the consumer spin.
TEST_F(ConsumerTest, RefusesAnswersThatCannotBe) {
  struct Lie {
    std::int64_t high_watermark;
    std::vector<std::byte> payload;
  };
  FakeBroker::Partition one;
  one.append(as_bytes("v0"));
  const std::vector<Lie> lies{
      {3, {}},                            // empty, though there are records
      {0, one.log},                       // records behind the watermark
      {9, std::vector<std::byte>(1001)},  // more than was asked for
  };
  for (const Lie& lie : lies) {
    with_broker(3, [&](FakeBroker& broker) {
      auto consumer = open(broker);
      broker.fault = [&](const wire::Request& request, int) {
        std::vector<std::byte> frame(wire::kFetchResponseHeaderBytes);
        wire::put_fetch_response_header(frame.data(), request.correlation_id, Offset(lie.high_watermark),
                                        static_cast<std::int32_t>(lie.payload.size()));
        frame.insert(frame.end(), lie.payload.begin(), lie.payload.end());
        return FakeBroker::Fault{frame};
      };
      const auto batch = consumer->poll();
      ASSERT_FALSE(batch.has_value());
      EXPECT_EQ(batch.error().kind, FailureKind::bad_answer) << batch.error().message;
    });
  }
}

TEST_F(ConsumerTest, ALostOrSilentBrokerEndsItInTheEnd) {
  for (const Then then : {Then::close, Then::reset, Then::hang}) {
    with_broker(3, [&](FakeBroker& broker) {
      auto consumer = open(broker);
      broker.fault = [&](const wire::Request&, int) { return FakeBroker::Fault{{}, then}; };
      const auto expected = then == Then::hang ? FailureKind::timed_out : FailureKind::lost;
      EXPECT_EQ(consumer->poll().error().kind, expected);
      EXPECT_EQ(consumer->poll().error().kind, expected);
    });
  }
}

TEST_F(ConsumerTest, UnknownTopicsAndPartitionsAreRefused) {
  with_broker(0, [&](FakeBroker& broker) {
    ConsumerOptions options{
        .broker = broker.address(), .topic = "missing", .partition = PartitionId(0), .start = {}};
    EXPECT_EQ(Consumer::open(world.roles, options).error().refusal,
              wire::WireError::unknown_topic_or_partition);
    options.topic = "t";
    options.partition = PartitionId(1);
    EXPECT_EQ(Consumer::open(world.roles, options).error().kind, FailureKind::refused);
    options.partition = PartitionId(-1);
    EXPECT_EQ(Consumer::open(world.roles, options).error().kind, FailureKind::refused);
  });
}

RC_GTEST_PROP(ConsumerProperty, AnyLogThroughAnyCutsComesBackWhole, ()) {
  const auto payloads =
      *rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(rc::gen::arbitrary<std::string>()));
  std::size_t largest = 1;
  for (const std::string& payload : payloads) {
    largest = std::max(largest, payload.size());
  }
  const auto max_bytes = static_cast<std::int32_t>(largest) + 8 + *rc::gen::inRange(0, 500);
  VirtualWorld world;
  world.network.limits = {.piece_bytes = *rc::gen::inRange<std::size_t>(1, 100),
                          .buffer_bytes = *rc::gen::inRange<std::size_t>(1, 300)};
  std::vector<std::string> read;
  RC_ASSERT(world.scheduler.run([&] {
    FakeBroker broker(world.roles);
    broker.add("t", 0);
    for (const std::string& payload : payloads) {
      broker.at("t", 0).append(as_bytes(payload));
    }
    ConsumerOptions options{
        .broker = broker.address(), .topic = "t", .partition = PartitionId(0), .start = {}};
    options.max_bytes = max_bytes;
    const auto consumer = Consumer::open(world.roles, options);
    RC_ASSERT(consumer.has_value());
    while (true) {
      const auto batch = (*consumer)->replay();
      RC_ASSERT(batch.has_value());
      if (batch->records.empty()) {
        break;
      }
      for (const Record& record : batch->records) {
        RC_ASSERT(record.offset == Offset(static_cast<std::int64_t>(read.size())));
        read.emplace_back(as_text(record.value));
      }
    }
  }));
  RC_ASSERT(read == payloads);
}

}  // namespace
}  // namespace booblik::client
