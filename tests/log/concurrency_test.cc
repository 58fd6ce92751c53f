// All that may run at the same time on one log, with every disk operation a point where others run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "env/posix/environment.h"
#include "env/random.h"
#include "env/sync.h"
#include "log_world.h"

namespace booblik::log {
namespace {

// What the record at an offset holds, so that everyone can tell.
std::string payload_at(std::int64_t offset) {
  const std::size_t size = 1 + static_cast<std::size_t>(offset * 7919 % 60);
  std::string payload = std::to_string(offset);
  payload.resize(std::max(size, payload.size()), static_cast<char>('a' + offset % 26));
  return payload;
}

// So that a run in which nothing happened does not pass for a good one.
struct Counts {
  std::int64_t reads_compared = 0;
  std::int64_t segments_removed = 0;
};

class Concurrency {
 public:
  Concurrency(env::Environment& env, std::uint64_t seed, Counts& counts)
      : env_(env),
        counts_(counts),
        random_(seed),
        fibers_(env.scheduler),
        world_({.segment_capacity_bytes = 200, .index_interval_bytes = 30}) {
    world_.open_files_max = 2;
    world_.index_bytes_max = 200;
  }

  void run() {
    ASSERT_TRUE(world_.open());
    world_.disk.intercept = [this](MemoryDisk::Operation, const std::string&) {
      for (std::uint64_t turns = random_.below(4); turns > 0; --turns) {
        env_.scheduler.yield();
      }
      return MemoryDisk::Verdict{};
    };
    spawn("writer", [this] { write(); });
    spawn("syncer", [this] { repeat([this] { sync(); }); });
    spawn("retention", [this] { repeat([this] { retain(); }); });
    spawn("checkpoint", [this] { repeat([this] { keep_checkpoint(); }); });
    for (int reader = 0; reader < 3; ++reader) {
      spawn("reader", [this] { repeat([this] { read(); }); });
    }
    ASSERT_TRUE(fibers_.wait(Deadline::never()));
    world_.disk.intercept = nullptr;
    check_after_restart();
  }

 private:
  void spawn(const char* name, std::move_only_function<void()> body) {
    fibers_.add();
    env_.scheduler.spawn(name, [this, body = std::move(body)]() mutable {
      body();
      fibers_.done();
    });
  }

  template <class Step>
  void repeat(Step step) {
    while (!written_) {
      step();
      env_.scheduler.yield();
    }
  }

  void write() {
    for (int group = 0; group < 60; ++group) {
      std::vector<std::string> payloads;
      for (std::uint64_t i = 0; i <= random_.below(12); ++i) {
        payloads.push_back(payload_at(world_.log->end_offset().value() + static_cast<std::int64_t>(i)));
      }
      EXPECT_TRUE(world_.append(payloads));
      if (random_.one_in(8)) {
        world_.clock.advance(std::chrono::seconds(2));
        EXPECT_TRUE(world_.log->roll_if_older(std::chrono::seconds(1)));
      }
      env_.scheduler.yield();
    }
    written_ = true;
  }

  void sync() {
    const Offset before = world_.log->end_offset();
    const auto durable = world_.log->sync();
    ASSERT_TRUE(durable) << durable.error().message;
    EXPECT_GE(*durable, before);
    EXPECT_GE(world_.log->unsynced_bytes(), 0);
  }

  void retain() {
    const auto removed = world_.log->apply_retention({.bytes = 1500, .age = {}});
    ASSERT_TRUE(removed) << removed.error().message;
    counts_.segments_removed += *removed;
  }

  void keep_checkpoint() {
    world_.log->persist_index();
    const PartitionCheckpoint now = world_.log->checkpoint();
    EXPECT_GE(now.offset, world_.checkpoint->offset);
    world_.checkpoint = now;
  }

  void read() {
    const std::int64_t start = world_.log->start_offset().value();
    const std::int64_t end = world_.log->end_offset().value();
    const std::int64_t offset =
        start + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(end - start + 1)));
    auto slice = world_.log->read(Offset(offset), 1 + static_cast<std::int64_t>(random_.below(300)));
    if (!slice) {
      ASSERT_EQ(slice.error().code, ErrorCode::offset_out_of_range) << slice.error().message;
      EXPECT_GT(world_.log->start_offset(), Offset(offset)) << "retention has passed it";
      return;
    }
    EXPECT_GE(slice->high_watermark, Offset(end));
    EXPECT_EQ(slice->bytes > 0, Offset(offset) < slice->high_watermark);
    if (slice->bytes == 0) {
      return;
    }
    // The pin holds while others go on.
    std::vector<std::byte> bytes(static_cast<std::size_t>(slice->bytes));
    ASSERT_EQ(slice->file->read_at(bytes, slice->position).value_or(0), bytes.size());
    std::vector<std::byte> expected;
    for (std::int64_t next = offset; expected.size() < bytes.size(); ++next) {
      const auto record = encode(payload_at(next));
      expected.insert(expected.end(), record.begin(), record.end());
    }
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin())) << "at " << offset;
    ++counts_.reads_compared;
  }

  void check_after_restart() {
    const std::int64_t start = world_.log->start_offset().value();
    const std::int64_t end = world_.log->end_offset().value();
    const std::int64_t durable = world_.log->durable_offset().value();
    const bool power = random_.one_in(2);
    world_.kill();
    EXPECT_EQ(world_.disk.open_now, 0U);
    if (power) {
      world_.disk.lose_power([this] { return random_.one_in(2); });
    }
    ASSERT_TRUE(world_.open());
    EXPECT_EQ(world_.log->start_offset(), Offset(start));
    EXPECT_GE(world_.log->end_offset(), Offset(power ? durable : end));
    for (std::int64_t offset = start; offset < (power ? durable : end); ++offset) {
      ASSERT_EQ(world_.read(offset).value_or("?"), payload_at(offset));
    }
  }

  env::Environment& env_;
  Counts& counts_;
  env::Random random_;
  env::WaitGroup fibers_;
  LogWorld world_;
  bool written_ = false;
};

TEST(Concurrency, EveryoneSeesTheRecordsOfTheirOffsets) {
  env::SystemCalls system;
  auto environment = env::PosixEnvironment::create({}, system);
  ASSERT_TRUE(environment);
  Counts counts;
  (*environment)->run([&] {
    env::Environment roles = (*environment)->roles();
    for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      Concurrency(roles, seed, counts).run();
    }
  });
  EXPECT_GT(counts.reads_compared, 1000);
  EXPECT_GT(counts.segments_removed, 1000);
}

}  // namespace
}  // namespace booblik::log
