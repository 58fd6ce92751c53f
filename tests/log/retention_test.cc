#include <gtest/gtest.h>

#include <chrono>

#include "log_world.h"

namespace booblik::log {
namespace {

using std::chrono::hours;
using Payloads = std::vector<std::string>;

class RetentionTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world.open()); }

  // One segment of 98 bytes for each.
  void append_segments(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(world.append({std::string(90, static_cast<char>('a' + i))}));
    }
  }

  void sync() { ASSERT_TRUE(world.log->sync()); }

  std::int64_t retain_bytes(std::int64_t bytes) { return apply({.bytes = bytes, .age = {}}); }
  std::int64_t retain_age(Duration age) { return apply({.bytes = {}, .age = age}); }

  std::int64_t apply(const RetentionLimits& limits) {
    const auto removed = world.log->apply_retention(limits);
    EXPECT_TRUE(removed) << removed.error().message;
    return removed.value_or(-1);
  }

  LogWorld world;
};

TEST_F(RetentionTest, ByBytesKeepsAtLeastTheLimit) {
  append_segments(5);
  sync();
  EXPECT_EQ(retain_bytes(490), 0);
  EXPECT_EQ(retain_bytes(393), 0) << "without the oldest there would be 392";
  EXPECT_EQ(retain_bytes(392), 1);
  EXPECT_EQ(world.log->start_offset(), Offset(1));
  EXPECT_EQ(world.log->size_bytes(), 392);
  EXPECT_EQ(world.log->read(Offset(0), 1).error().code, ErrorCode::offset_out_of_range);
  EXPECT_FALSE(world.disk.exists(LogWorld::path(0)));
  EXPECT_FALSE(world.disk.exists(LogWorld::path(0, ".booblik-index")));
  EXPECT_EQ(retain_bytes(0), 3) << "never the active segment";
  EXPECT_EQ(world.read_all(4).size(), 1U);
}

TEST_F(RetentionTest, ByAgeTakesSegmentsInOrder) {
  append_segments(2);
  world.clock.advance(hours(2));
  append_segments(2);
  sync();
  EXPECT_EQ(retain_age(hours(2)), 0);
  world.clock.advance(hours(1));
  EXPECT_EQ(retain_age(hours(2)), 2);
  EXPECT_EQ(world.log->start_offset(), Offset(2));
}

TEST_F(RetentionTest, AJumpOfTheWallClockDeletesNothing) {
  append_segments(3);
  sync();
  world.clock.jump_wall(hours(24 * 365));
  EXPECT_EQ(retain_age(hours(1)), 0);
}

TEST_F(RetentionTest, AgesGoOnOverARestart) {
  append_segments(3);
  world.clock.advance(hours(2));
  world.stop();
  world.clock.advance(hours(2));
  ASSERT_TRUE(world.open());
  EXPECT_EQ(retain_age(hours(5)), 0);
  EXPECT_EQ(retain_age(hours(3)), 2);
}

TEST_F(RetentionTest, ATimestampInTheFutureDoesNotKeepDataForEver) {
  world.clock.jump_wall(hours(24 * 365));
  append_segments(3);
  world.stop();
  world.clock.jump_wall(-hours(24 * 365));
  ASSERT_TRUE(world.open());
  EXPECT_EQ(retain_age(hours(1)), 0);
  world.clock.advance(hours(2));
  EXPECT_EQ(retain_age(hours(1)), 2);
}

TEST_F(RetentionTest, AnUnknownTimeCountsFromTheStart) {
  world.disk.put(LogWorld::path(0), encode("old"));
  world.disk.put(LogWorld::path(1), encode("older"));
  ASSERT_TRUE(world.open());
  EXPECT_EQ(retain_age(hours(1)), 0);
  world.clock.advance(hours(2));
  EXPECT_EQ(retain_age(hours(1)), 1);
}

TEST_F(RetentionTest, QuietActiveSegmentsRollAndGo) {
  ASSERT_TRUE(world.append({"a"}));
  world.clock.advance(hours(1));
  ASSERT_TRUE(world.append({"b"}));
  ASSERT_TRUE(world.log->roll_if_older(hours(1)));
  EXPECT_EQ(world.log->segment_count(), 1U) << "not older yet";
  world.clock.advance(hours(1));
  ASSERT_TRUE(world.log->roll_if_older(hours(1)));
  EXPECT_EQ(world.log->segment_count(), 2U);
  ASSERT_TRUE(world.log->roll_if_older(hours(0)));
  EXPECT_EQ(world.log->segment_count(), 2U) << "an empty segment does not roll";
  world.clock.advance(hours(1));
  sync();
  EXPECT_EQ(retain_age(hours(1)), 1);
  EXPECT_EQ(world.log->start_offset(), Offset(2));
  EXPECT_EQ(world.log->end_offset(), Offset(2));
  ASSERT_TRUE(world.append({"c"}));
  world.stop();
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.log->start_offset(), Offset(2));
  EXPECT_EQ(world.read(2), "c");
}

TEST_F(RetentionTest, TheAgeOfTheOldestRecordOfTheActiveSegmentSurvivesARestart) {
  ASSERT_TRUE(world.append({"a"}));
  world.stop();
  world.clock.advance(hours(2));
  ASSERT_TRUE(world.open());
  ASSERT_TRUE(world.append({"b"}));
  ASSERT_TRUE(world.log->roll_if_older(hours(1)));
  EXPECT_EQ(world.log->segment_count(), 2U);
}

TEST_F(RetentionTest, WhatIsNotDurableStays) {
  append_segments(3);
  EXPECT_EQ(retain_bytes(0), 0);
  sync();
  EXPECT_EQ(retain_bytes(0), 2);
}

TEST_F(RetentionTest, WhatWasSyncedOnlyForItsDescriptorStaysUntilItIsVouchedFor) {
  append_segments(12);
  ASSERT_TRUE(world.probe.hits.contains("log.append_waited_for_descriptors"));
  EXPECT_EQ(retain_bytes(0), 0);
  world.kill();
  world.disk.lose_power([] { return false; });
  ASSERT_TRUE(world.open());
  EXPECT_FALSE(world.log->recovery().damaged());
}

TEST_F(RetentionTest, APinnedSegmentIsReadableUntilItsReaderIsDone) {
  append_segments(3);
  sync();
  auto slice = world.log->read(Offset(0), 1000);
  ASSERT_TRUE(slice);
  EXPECT_EQ(retain_bytes(0), 2);
  EXPECT_EQ(world.disk.reclaimed, 1U) << "only the segment that nobody reads";
  std::vector<std::byte> bytes(98);
  EXPECT_EQ(slice->file->read_at(bytes, slice->position).value_or(0), 98U);
  EXPECT_EQ(bytes, encode(std::string(90, 'a')));
  slice->file.reset();
  EXPECT_EQ(world.disk.reclaimed, 2U);
}

TEST_F(RetentionTest, AReaderThatParksWhileItsSegmentGoesIsToldSo) {
  append_segments(3);
  world.stop();
  ASSERT_TRUE(world.open());
  bool once = true;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    if (operation == MemoryDisk::Operation::read && std::exchange(once, false)) {
      EXPECT_EQ(retain_bytes(0), 2);
    }
    return MemoryDisk::Verdict{};
  };
  EXPECT_EQ(world.log->read(Offset(0), 10).error().code, ErrorCode::offset_out_of_range);
  EXPECT_FALSE(once);
  EXPECT_EQ(world.disk.reclaimed, 2U);
}

TEST_F(RetentionTest, AnAppendThatRollsDuringRetentionLosesNothing) {
  append_segments(3);
  sync();
  bool once = true;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    if (operation == MemoryDisk::Operation::remove && std::exchange(once, false)) {
      append_segments(3);
    }
    return MemoryDisk::Verdict{};
  };
  EXPECT_EQ(retain_bytes(0), 3) << "the active segment of before was synced, and is sealed now";
  EXPECT_EQ(world.log->start_offset(), Offset(3));
  EXPECT_EQ(world.read_all(3).size(), 3U);
}

TEST_F(RetentionTest, PowerLossDuringRetentionLeavesNoGap) {
  for (int choices = 0; choices < 64; ++choices) {
    LogWorld fresh;
    ASSERT_TRUE(fresh.open());
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(fresh.append({std::string(90, 'x')}));
    }
    ASSERT_TRUE(fresh.log->sync());
    fresh.checkpoint = fresh.log->checkpoint();
    // The power goes before one of the directory syncs.
    int syncs = choices % 4;
    fresh.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
      const bool dead = operation == MemoryDisk::Operation::sync_directory && syncs-- <= 0;
      return MemoryDisk::Verdict{dead ? std::optional(ErrorCode::io) : std::nullopt};
    };
    (void)fresh.log->apply_retention({.bytes = 0, .age = {}});
    fresh.disk.intercept = nullptr;
    fresh.kill();
    int bits = choices / 4;
    fresh.disk.lose_power([&] { return (std::exchange(bits, bits / 2) & 1) != 0; });
    ASSERT_TRUE(fresh.open());
    EXPECT_FALSE(fresh.log->recovery().damaged()) << choices << ::testing::PrintToString(fresh.logger.lines);
    EXPECT_EQ(fresh.log->end_offset(), Offset(5));
  }
}

TEST_F(RetentionTest, AFailedRemovalIsToldAndTriedAgain) {
  append_segments(3);
  sync();
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    return MemoryDisk::Verdict{operation == MemoryDisk::Operation::remove ? std::optional(ErrorCode::io)
                                                                          : std::nullopt};
  };
  EXPECT_EQ(world.log->apply_retention({.bytes = 0, .age = {}}).error().code, ErrorCode::io);
  world.disk.intercept = nullptr;
  EXPECT_EQ(world.read_all(0).size(), 3U);
  EXPECT_EQ(retain_bytes(0), 2);
}

// Found by the simulator: the power took both, and the log went on at an older checkpoint's offset.
TEST(RetentionNames, TheSuccessorsNameIsDurableBeforeASegmentGoes) {
  LogWorld world;
  ASSERT_TRUE(world.open());
  ASSERT_TRUE(world.append({"one", "two"}));
  ASSERT_TRUE(world.log->sync());
  world.clock.advance(std::chrono::seconds(2));
  ASSERT_TRUE(world.log->roll_if_older(std::chrono::seconds(1)));
  ASSERT_FALSE(world.disk.has_durable_name(LogWorld::path(2)));
  bool checked = false;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string& path) {
    if (operation == MemoryDisk::Operation::remove && path == LogWorld::path(0)) {
      EXPECT_TRUE(world.disk.has_durable_name(LogWorld::path(2)));
      checked = true;
    }
    return MemoryDisk::Verdict{};
  };
  EXPECT_EQ(world.log->apply_retention({.bytes = {}, .age = std::chrono::seconds(1)}).value_or(0), 1);
  world.disk.intercept = nullptr;
  EXPECT_TRUE(checked);
}

}  // namespace
}  // namespace booblik::log
