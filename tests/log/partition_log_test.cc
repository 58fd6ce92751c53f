#include <gtest/gtest.h>

#include "log_world.h"

namespace booblik::log {
namespace {

using Payloads = std::vector<std::string>;

class PartitionLogTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world.open()); }

  void append(const Payloads& payloads) {
    const auto appended = world.append(payloads);
    ASSERT_TRUE(appended) << appended.error().message;
  }

  LogWorld world;
};

TEST_F(PartitionLogTest, BeginsEmptyAtZero) {
  EXPECT_EQ(world.log->start_offset(), Offset(0));
  EXPECT_EQ(world.log->end_offset(), Offset(0));
  EXPECT_EQ(world.log->segment_count(), 1U);
  const auto slice = world.log->read(Offset(0), 10);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->bytes, 0);
  EXPECT_EQ(world.log->read(Offset(1), 10).error().code, ErrorCode::offset_out_of_range);
}

TEST_F(PartitionLogTest, ReadsBackWhatWasAppendedAcrossSegments) {
  Payloads all;
  for (int i = 0; i < 40; ++i) {
    all.push_back("payload " + std::to_string(i));
  }
  append({all.begin(), all.begin() + 15});
  append({all.begin() + 15, all.end()});
  EXPECT_EQ(world.log->end_offset(), Offset(40));
  EXPECT_GT(world.log->segment_count(), 5U);
  EXPECT_EQ(world.read_all(0), all);
  EXPECT_EQ(world.read_all(23), Payloads(all.begin() + 23, all.end()));
}

TEST_F(PartitionLogTest, CutsASliceAtMaxBytesAndAtTheEndOfTheSegment) {
  append({"0123456789", "0123456789", std::string(70, 'x')});  // the third begins a segment
  const auto cut = world.log->read(Offset(0), 5);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->bytes, 5);
  EXPECT_EQ(cut->high_watermark, Offset(3));
  EXPECT_EQ(world.log->read(Offset(1), 1000)->bytes, 18);
  EXPECT_EQ(world.log->read(Offset(1), 1000)->position, Position(18));
  EXPECT_EQ(world.log->read(Offset(2), 1000)->bytes, 78);
}

TEST_F(PartitionLogTest, SaysWhatIsAvailableNowAndEver) {
  append({"0123456789", "0123456789"});
  EXPECT_EQ(world.log->available(Offset(1))->bytes_now, 18);
  EXPECT_EQ(world.log->available(Offset(1))->bytes_ever, 82);
  EXPECT_EQ(world.log->available(Offset(2))->bytes_now, 0);
  EXPECT_EQ(world.log->available(Offset(2))->bytes_ever, 64);
  append({std::string(70, 'x')});
  EXPECT_EQ(world.log->available(Offset(1))->bytes_ever, 18) << "a sealed segment grows no more";
}

TEST_F(PartitionLogTest, WhoeverFollowsTheEndIsAnsweredWithoutReadingTheFile) {
  append({"a"});
  append({"b", "c"});
  append({"d"});
  world.disk.counts.clear();
  EXPECT_EQ(world.log->read(Offset(1), 100)->position, Position(9));
  EXPECT_EQ(world.log->available(Offset(3))->bytes_now, 9);
  EXPECT_EQ(world.disk.counts[MemoryDisk::Operation::read], 0);
  EXPECT_EQ(world.log->read(Offset(2), 100)->position, Position(18));
  EXPECT_GT(world.disk.counts[MemoryDisk::Operation::read], 0) << "in the middle of a group";
}

TEST_F(PartitionLogTest, SyncCoversEverySegmentAndTheirNames) {
  append({"a", "b", std::string(80, 'c'), "d"});
  EXPECT_EQ(world.log->durable_offset(), Offset(0));
  EXPECT_GT(world.log->unsynced_bytes(), 0);
  ASSERT_TRUE(world.log->sync());
  EXPECT_EQ(world.log->durable_offset(), Offset(4));
  EXPECT_EQ(world.log->unsynced_bytes(), 0);
  world.kill();
  world.disk.lose_power([] { return false; });
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.read_all(0), (Payloads{"a", "b", std::string(80, 'c'), "d"}));
}

TEST_F(PartitionLogTest, ForgetsWhatWasNotSyncedWhenThePowerGoes) {
  append({"a", "b"});
  ASSERT_TRUE(world.log->sync());
  append({"c", std::string(85, 'd'), "e"});
  world.kill();
  world.disk.lose_power([] { return false; });
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.read_all(0), (Payloads{"a", "b"}));
  append({"new"});
  EXPECT_EQ(world.read(2), "new");
}

TEST_F(PartitionLogTest, ASyncDoesNotCoverWhatIsWrittenDuringIt) {
  append({"a"});
  bool once = true;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    if (operation == MemoryDisk::Operation::sync && std::exchange(once, false)) {
      append({"b", std::string(85, 'c'), "d"});
    }
    return MemoryDisk::Verdict{};
  };
  EXPECT_EQ(*world.log->sync(), Offset(1));
  EXPECT_EQ(world.log->durable_offset(), Offset(1));
  EXPECT_GT(world.log->unsynced_bytes(), 0);
  EXPECT_EQ(*world.log->sync(), Offset(4));
  EXPECT_EQ(world.log->unsynced_bytes(), 0);
}

// It vouches for the segment, and the power could take the name of that.
TEST_F(PartitionLogTest, ASummaryIsWrittenOnlyWhenTheNameOfItsSegmentIsDurable) {
  append({"a"});
  bool once = true;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    if (operation == MemoryDisk::Operation::sync && std::exchange(once, false)) {
      append(Payloads(12, std::string(90, 'x')));  // so many that full ones are synced for their descriptors
    }
    return MemoryDisk::Verdict{};
  };
  EXPECT_EQ(*world.log->sync(), Offset(1));
  world.disk.intercept = nullptr;
  ASSERT_TRUE(world.probe.hits.contains("log.append_waited_for_descriptors"));
  for (int base = 1; base < 13; ++base) {
    if (world.disk.exists(LogWorld::path(base, ".booblik-index"))) {
      EXPECT_TRUE(world.disk.has_durable_name(LogWorld::path(base))) << base;
    }
  }
  ASSERT_TRUE(world.log->sync());
  EXPECT_TRUE(world.disk.exists(LogWorld::path(11, ".booblik-index")));
}

TEST_F(PartitionLogTest, AFailedSyncEndsWritingAndNotReading) {
  append({"a"});
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    return MemoryDisk::Verdict{operation == MemoryDisk::Operation::sync ? std::optional(ErrorCode::io)
                                                                        : std::nullopt};
  };
  EXPECT_EQ(world.log->sync().error().code, ErrorCode::io);
  world.disk.intercept = nullptr;
  EXPECT_TRUE(world.log->failure());
  EXPECT_TRUE(world.logger.has("takes no more records"));
  EXPECT_FALSE(world.append({"b"}));
  EXPECT_FALSE(world.log->sync()) << "a second sync would succeed and prove nothing";
  EXPECT_EQ(world.log->durable_offset(), Offset(0));
  EXPECT_EQ(world.read(0), "a");
}

TEST_F(PartitionLogTest, AFullDiskTakesTheGroupBackAndGoesOnLater) {
  append({"a"});
  ASSERT_TRUE(world.log->sync());
  const auto before = world.disk.snapshot();
  int writes = 0;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    const bool second = operation == MemoryDisk::Operation::write && ++writes == 2;
    return second ? MemoryDisk::Verdict{ErrorCode::no_space, 30} : MemoryDisk::Verdict{};
  };
  // The first part fits the active segment, the second is in a new one.
  EXPECT_EQ(world.append({"b", std::string(85, 'c')}).error().code, ErrorCode::no_space);
  EXPECT_FALSE(world.log->failure());
  EXPECT_EQ(world.log->end_offset(), Offset(1));
  EXPECT_EQ(world.disk.snapshot(), before);
  EXPECT_TRUE(world.probe.hits.contains("log.group_rolled_back"));
  world.disk.intercept = nullptr;
  append({"d", std::string(85, 'e')});
  EXPECT_EQ(world.read_all(0), (Payloads{"a", "d", std::string(85, 'e')}));
}

// What is cut off may be on the disk already, and a full segment may never see a barrier again.
TEST_F(PartitionLogTest, TheCutOfAFailedGroupIsMadeDurable) {
  append({"a"});
  ASSERT_TRUE(world.log->sync());
  std::vector<MemoryDisk::Operation> done;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string& path) {
    const bool is_old = path == LogWorld::path(0);
    if (is_old) {
      done.push_back(operation);
    }
    const bool fails =
        !is_old && (operation == MemoryDisk::Operation::create || operation == MemoryDisk::Operation::open);
    return fails ? MemoryDisk::Verdict{ErrorCode::no_space} : MemoryDisk::Verdict{};
  };
  EXPECT_EQ(world.append({"b", std::string(85, 'c')}).error().code, ErrorCode::no_space);
  using enum MemoryDisk::Operation;
  EXPECT_EQ(done, (std::vector{write, truncate, sync}));
  EXPECT_FALSE(world.log->failure());
}

TEST_F(PartitionLogTest, AGroupThatCannotBeTakenBackEndsWriting) {
  append({"a"});
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    const bool fails =
        operation == MemoryDisk::Operation::write || operation == MemoryDisk::Operation::truncate;
    return fails ? MemoryDisk::Verdict{ErrorCode::no_space, 5} : MemoryDisk::Verdict{};
  };
  EXPECT_FALSE(world.append({"bbbbbbbbbbb"}));
  world.disk.intercept = nullptr;
  EXPECT_TRUE(world.log->failure());
  EXPECT_EQ(world.read_all(0), Payloads{"a"});
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.read_all(0), Payloads{"a"});
  EXPECT_TRUE(world.outcomes().contains(Outcome::torn_tail));
}

TEST_F(PartitionLogTest, AGroupThatIsTakenBackInPartLeavesNoHole) {
  append({"a"});
  int writes = 0;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    const bool third = operation == MemoryDisk::Operation::write && ++writes == 3;
    const bool fails = third || operation == MemoryDisk::Operation::remove;
    return fails ? MemoryDisk::Verdict{ErrorCode::no_space, 30} : MemoryDisk::Verdict{};
  };
  EXPECT_FALSE(world.append({"b", std::string(85, 'c'), std::string(85, 'd')}));
  world.disk.intercept = nullptr;
  EXPECT_TRUE(world.log->failure());
  EXPECT_EQ(world.read_all(0), Payloads{"a"}) << "nothing of a failed group is visible";
  ASSERT_TRUE(world.open());
  EXPECT_FALSE(world.log->recovery().damaged());
  EXPECT_EQ(world.read_all(0), (Payloads{"a", "b", std::string(85, 'c')}));
}

// The kernel tells an error of one file once, to one of two barriers that overlap.
TEST_F(PartitionLogTest, ABarrierIsNotBelievedWhenAnotherOfTheSameSegmentFailed) {
  append({"a", std::string(90, 'b')});
  int calls = 0;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string& path) {
    if (operation != MemoryDisk::Operation::sync || path != LogWorld::path(0)) {
      return MemoryDisk::Verdict{};
    }
    if (++calls == 1) {  // of sync(); meanwhile an append syncs to free descriptors, and is told
      EXPECT_FALSE(world.append(Payloads(12, std::string(90, 'x'))));
      return MemoryDisk::Verdict{};
    }
    return MemoryDisk::Verdict{ErrorCode::io};
  };
  EXPECT_FALSE(world.log->sync());
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(world.log->failure());
  EXPECT_EQ(world.log->durable_offset(), Offset(0));
}

TEST_F(PartitionLogTest, ABarrierIsNotBelievedWhileAnotherOfTheSameSegmentIsInFlight) {
  append({"a", std::string(90, 'b')});
  int calls = 0;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string& path) {
    if (operation != MemoryDisk::Operation::sync || path != LogWorld::path(0)) {
      return MemoryDisk::Verdict{};
    }
    switch (++calls) {
      case 1:  // of an append; sync() begins and ends during it
        EXPECT_FALSE(world.log->sync());
        return MemoryDisk::Verdict{};
      case 2:
        return MemoryDisk::Verdict{};
      default:  // asked again, for the first has not come back
        return MemoryDisk::Verdict{ErrorCode::io};
    }
  };
  EXPECT_FALSE(world.append(Payloads(12, std::string(90, 'x'))));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(world.log->durable_offset(), Offset(0));
}

TEST_F(PartitionLogTest, AnIoErrorOnAWriteEndsWriting) {
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    return MemoryDisk::Verdict{operation == MemoryDisk::Operation::write ? std::optional(ErrorCode::io)
                                                                         : std::nullopt};
  };
  EXPECT_EQ(world.append({"a"}).error().code, ErrorCode::io);
  EXPECT_TRUE(world.log->failure());
}

TEST_F(PartitionLogTest, ABarrierThatFailsDuringAnAppendFailsTheAppend) {
  append({"a"});
  bool once = true;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
    if (operation == MemoryDisk::Operation::write && std::exchange(once, false)) {
      EXPECT_FALSE(world.log->sync());
    }
    return MemoryDisk::Verdict{operation == MemoryDisk::Operation::sync ? std::optional(ErrorCode::io)
                                                                        : std::nullopt};
  };
  EXPECT_FALSE(world.append({"b"}));
  EXPECT_EQ(world.log->end_offset(), Offset(1));
}

TEST_F(PartitionLogTest, KeepsFewFilesOpenHoweverManySegmentsThereAre) {
  world.disk.open_max = 12;
  const Payloads group(500, std::string(90, 'x'));  // a segment each
  for (int i = 0; i < 4; ++i) {
    append(group);
  }
  EXPECT_EQ(world.log->segment_count(), 2000U);
  EXPECT_EQ(world.read_all(0).size(), 2000U);
  EXPECT_TRUE(world.probe.hits.contains("log.append_waited_for_descriptors"));
  world.stop();
  EXPECT_EQ(world.disk.open_now, 0U);
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.log->recovery().segments_scanned, 1) << "the others have their summaries";
  EXPECT_EQ(world.read_all(0).size(), 2000U);
  world.checkpoint.reset();
  for (const auto& [path, content] : world.disk.snapshot()) {
    if (path.ends_with(".booblik-index")) {
      ASSERT_TRUE(world.disk.remove(path));
    }
  }
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.log->recovery().segments_scanned, 2000);
  EXPECT_EQ(world.read_all(0).size(), 2000U);
  EXPECT_LE(world.disk.open_peak, 12U);
}

TEST_F(PartitionLogTest, AStartAfterAStopReadsNoRecordsAndWritesNothing) {
  append(Payloads(30, "0123456789"));
  world.stop();
  const auto before = world.disk.snapshot();
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.log->recovery().bytes_scanned, 0);
  EXPECT_EQ(world.log->recovery().bytes_rewritten, 0);
  EXPECT_EQ(world.disk.snapshot(), before);
  EXPECT_EQ(world.read_all(0).size(), 30U);
}

TEST_F(PartitionLogTest, OtherSegmentSizesAndIndexIntervalsReadWhatIsThere) {
  Payloads all(30, "0123456789");
  append(all);
  for (const std::int64_t capacity : {40, 100, 5000}) {
    world.stop();
    world.options = {.segment_capacity_bytes = capacity, .index_interval_bytes = capacity / 2};
    ASSERT_TRUE(world.open());
    EXPECT_EQ(world.read_all(0), all);
    append({"one more"});
    all.emplace_back("one more");
    EXPECT_EQ(world.read_all(0), all);
  }
}

TEST_F(PartitionLogTest, AnActiveSegmentAboveTheCapacityIsFollowedByANewOne) {
  append({std::string(80, 'x')});
  world.stop();
  world.options.segment_capacity_bytes = 50;
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.log->segment_count(), 2U);
  EXPECT_EQ(world.log->active_position(), Position(0));
  append({"y"});
  EXPECT_EQ(world.read_all(0), (Payloads{std::string(80, 'x'), "y"}));
}

}  // namespace
}  // namespace booblik::log
