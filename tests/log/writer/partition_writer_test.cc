#include "log/partition_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <string>
#include <vector>

#include "env/posix/environment.h"
#include "scripted_log.h"

namespace booblik::log {
namespace {

using Outcome = PartitionWriter::Outcome;

// One writer on a scripted log, and what a test does with it, in a fiber.
class Bench {
 public:
  explicit Bench(env::Environment& environment, std::int64_t capacity = 1 << 20,
                 PartitionWriter::Options options = {})
      : scheduler(environment.scheduler),
        log(scheduler, capacity),
        pool(scheduler, 64 << 20, 1 << 20),
        writer(scheduler, environment.clock, environment.probe, environment.logger, log, pool, options) {}
  ~Bench() {
    log.release_barriers();
    EXPECT_TRUE(writer.stop(Deadline::never()));
    EXPECT_EQ(pool.bytes_out(), 0) << "every chunk came back";
  }

  AppendTicket stage(const std::vector<std::string>& payloads, bool forced = false) {
    std::vector<Bytes> records;
    std::int64_t bytes = 0;
    for (const std::string& payload : payloads) {
      records.push_back(as_bytes(payload));
      bytes += 8 + static_cast<std::int64_t>(payload.size());
    }
    return writer.stage(records, static_cast<std::int64_t>(records.size()), bytes, forced);
  }

  Outcome settle(const AppendTicket& ticket) {
    while (writer.outcome(ticket) == Outcome::pending) {
      writer.progress().wait(Deadline::never());
    }
    return writer.outcome(ticket);
  }

  env::Scheduler& scheduler;
  ScriptedLog log;
  ChunkPool pool;
  PartitionWriter writer;
};

void in_fiber(const std::function<void(env::Environment&)>& body) {
  env::SystemCalls system;
  auto environment = env::PosixEnvironment::create({}, system);
  ASSERT_TRUE(environment.has_value());
  const auto leaked = (*environment)->run([&] {
    env::Environment roles = (*environment)->roles();
    body(roles);
  });
  EXPECT_TRUE(leaked.empty()) << "fibers are left";
}

TEST(PartitionWriter, EverythingThatWaitsGoesOutWithOneWrite) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment);
    const auto first = bench.stage({"a", "b"});
    const auto second = bench.stage({"c"});
    EXPECT_EQ(bench.writer.outcome(first), Outcome::pending) << "staging does not write";
    EXPECT_EQ(bench.settle(second), Outcome::done);
    EXPECT_EQ(bench.log.group_sizes, std::vector<std::int64_t>({3}));
    EXPECT_EQ(first.base_offset(), Offset(0));
    EXPECT_EQ(first.end_offset(), Offset(2));
    EXPECT_EQ(second.base_offset(), Offset(2));
    EXPECT_EQ(as_text(bench.log.records[2]), "c");
  });
}

TEST(PartitionWriter, AGroupIsBoundedButABatchIsNotSplit) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment, 1 << 20, {.group_bytes_max = 100});
    const std::string large(90, 'x');
    bench.stage({large, large});  // alone above the bound
    bench.stage({"s"});
    bench.stage({"t"});
    EXPECT_EQ(bench.settle(bench.stage({large})), Outcome::done);
    EXPECT_EQ(bench.log.group_sizes, std::vector<std::int64_t>({2, 2, 1}));
  });
}

TEST(PartitionWriter, WrittenNeverWaitsForABarrierAndWritingGoesOnDuringOne) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment);
    bench.log.hold_barriers();
    const auto forced = bench.stage({"f"}, true);
    while (bench.log.barriers_started == 0) {
      bench.scheduler.yield();
    }
    EXPECT_EQ(bench.settle(bench.stage({"w"})), Outcome::done);
    EXPECT_EQ(bench.writer.outcome(forced), Outcome::pending);
    bench.log.release_barriers();
    EXPECT_EQ(bench.settle(forced), Outcome::done);
  });
}

TEST(PartitionWriter, AllWhoArriveDuringABarrierShareTheNext) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment);
    bench.log.hold_barriers();
    const auto first = bench.stage({"0"}, true);
    while (bench.log.barriers_started == 0) {
      bench.scheduler.yield();
    }
    std::vector<AppendTicket> later;
    for (int i = 0; i < 50; ++i) {
      later.push_back(bench.stage({std::to_string(i)}, true));
      bench.scheduler.yield();
    }
    EXPECT_EQ(bench.log.barriers_started, 1) << "one barrier in flight";
    bench.log.release_barriers();
    for (const AppendTicket& ticket : later) {
      EXPECT_EQ(bench.settle(ticket), Outcome::done);
    }
    EXPECT_EQ(bench.log.barriers_started, 2) << "one barrier serves the fifty";
  });
}

TEST(PartitionWriter, AFullDiskFailsWhatWaitsAndTheNextRequestMaySucceed) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment, 1 << 20, {.group_bytes_max = 1});
    bench.log.append_errors.push_back(Error{ErrorCode::no_space, "full"});
    const auto refused = bench.stage({"a"});
    const auto behind = bench.stage({"b"});
    EXPECT_EQ(bench.settle(refused), Outcome::failed);
    EXPECT_EQ(bench.writer.outcome(behind), Outcome::failed) << "it would be stored out of order";
    const auto later = bench.stage({"c"});
    EXPECT_EQ(bench.settle(later), Outcome::done);
    EXPECT_EQ(later.base_offset(), Offset(0));
  });
}

TEST(PartitionWriter, AFailedBarrierFailsForcedButNotWhatIsWritten) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment);
    bench.log.barrier_error = Error{ErrorCode::io, "EIO"};
    const auto written = bench.stage({"w"});
    const auto forced = bench.stage({"f"}, true);
    EXPECT_EQ(bench.settle(forced), Outcome::failed);
    EXPECT_EQ(bench.writer.outcome(written), Outcome::done);
    EXPECT_EQ(bench.log.barriers_started, 1) << "a failed barrier is not tried again";
  });
}

TEST(PartitionWriter, SyncsInTheBackgroundByRecordsByBytesAndByTime) {
  in_fiber([](env::Environment& environment) {
    for (const PartitionWriter::Options& options : {
             PartitionWriter::Options{.flush_every_records = 2},
             PartitionWriter::Options{.flush_every_bytes = 10},
             PartitionWriter::Options{.flush_every = std::chrono::milliseconds(1)},
         }) {
      Bench bench(environment, 1 << 20, options);
      bench.stage({"12", "34"});
      while (bench.log.durable_offset() < Offset(2)) {
        bench.writer.progress().wait(Deadline::never());
      }
      EXPECT_EQ(bench.log.barriers_started, 1);
    }
  });
}

TEST(PartitionWriter, ARollIsFollowedByABarrierThoughNobodyAsksForOne) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment, 100);
    EXPECT_EQ(bench.settle(bench.stage({std::string(60, 'a')})), Outcome::done);
    EXPECT_EQ(bench.log.barriers_started, 0);
    EXPECT_EQ(bench.settle(bench.stage({std::string(60, 'b')})), Outcome::done);
    while (bench.log.durable_offset() < Offset(2)) {
      bench.writer.progress().wait(Deadline::never());
    }
    EXPECT_EQ(bench.log.barriers_started, 1);
  });
}

TEST(PartitionWriter, StopWritesAndSyncsWhatIsStaged) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment);
    const auto ticket = bench.stage({"a"});
    EXPECT_TRUE(bench.writer.stop(Deadline::never()));
    EXPECT_EQ(bench.writer.outcome(ticket), Outcome::done);
    EXPECT_EQ(bench.log.durable_offset(), Offset(1));
  });
}

TEST(PartitionWriter, ARollByAgeHappensBetweenGroupsAndTheNextBatchFits) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment, 100);
    EXPECT_EQ(bench.settle(bench.stage({std::string(60, 'a')})), Outcome::done);
    bench.writer.roll_if_older(std::chrono::hours(1));
    while (!bench.log.rolled) {
      bench.scheduler.yield();
    }
    EXPECT_EQ(bench.settle(bench.stage({std::string(60, 'b')})), Outcome::done);
  });
}

// Readers that wait for more bytes of the segment get what there is: it is sealed, and nothing needs a
// barrier.
TEST(PartitionWriter, ARollByAgeIsTold) {
  in_fiber([](env::Environment& environment) {
    Bench bench(environment, 100);
    EXPECT_EQ(bench.settle(bench.stage({"a"}, true)), Outcome::done);
    bench.scheduler.yield();
    bench.writer.roll_if_older(std::chrono::hours(1));
    const Deadline soon(environment.clock.now() + std::chrono::seconds(5));
    EXPECT_NE(bench.writer.progress().wait(soon), env::Wake::deadline);
    EXPECT_TRUE(bench.log.rolled);
  });
}

// Law: whatever is staged, in whatever pieces, with whatever failures, comes to the log once and in order, in
// runs that fit their segments (ScriptedLog checks that), and each ticket names the offsets of its records.
TEST(PartitionWriter, WhatIsStagedIsWhatIsWritten) {
  const bool held = rc::check("staged batches are written", [] {
    const auto batches = *rc::gen::container<std::vector<std::vector<std::uint8_t>>>(rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(1, 93))));
    const auto pauses = *rc::gen::container<std::vector<bool>>(batches.size(), rc::gen::arbitrary<bool>());
    const auto failures =
        *rc::gen::container<std::vector<bool>>(rc::gen::weightedElement<bool>({{4, false}, {1, true}}));
    bool as_staged = true;  // asserted outside: no exception may leave a fiber
    in_fiber([&](env::Environment& environment) {
      Bench bench(environment, 100, {.group_bytes_max = 150});
      for (const bool failure : failures) {
        bench.log.append_errors.push_back(failure ? std::optional(Error{ErrorCode::no_space, "full"})
                                                  : std::nullopt);
      }
      std::vector<AppendTicket> tickets;
      std::vector<std::vector<std::string>> texts;
      for (std::size_t i = 0; i < batches.size(); ++i) {
        std::vector<std::string> payloads;
        for (const std::uint8_t size : batches[i]) {
          payloads.push_back(std::string(size - 1U, 'p') + static_cast<char>('a' + i % 26));
        }
        tickets.push_back(bench.stage(payloads));
        texts.push_back(payloads);
        if (pauses[i]) {
          bench.scheduler.yield();
        }
      }
      std::size_t next = 0;
      for (std::size_t i = 0; i < tickets.size(); ++i) {
        if (bench.settle(tickets[i]) == Outcome::failed) {
          continue;
        }
        as_staged &= tickets[i].base_offset() == Offset(static_cast<std::int64_t>(next));
        for (const std::string& text : texts[i]) {
          as_staged &= next < bench.log.records.size() && as_text(bench.log.records[next]) == text;
          ++next;
        }
      }
      as_staged &= next == bench.log.records.size();
    });
    RC_ASSERT(as_staged);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace booblik::log
