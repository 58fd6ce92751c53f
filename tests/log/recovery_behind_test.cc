// Recovery behind the recovery point: what the power left of segments that no barrier had covered; and starts
// that fail.
#include <gtest/gtest.h>

#include <algorithm>

#include "log/index_file.h"
#include "recovery_fixture.h"

namespace booblik::log {
namespace {

TEST_F(RecoveryTest, ATornSegmentAboveTheRecoveryPointEndsTheLogIfOnlyNamesFollow) {
  const Content torn = segment(3);
  put(0, segment(0));
  put(3, Content(torn.begin(), torn.begin() + 40));
  put(6, zeros(30));
  put(9, {});
  vouch(4, 3, 18);
  open();
  EXPECT_EQ(world.outcomes(), (std::set{Outcome::torn_tail, Outcome::unreachable}));
  EXPECT_FALSE(world.log->recovery().damaged());
  EXPECT_EQ(world.log->end_offset(), Offset(5));
  EXPECT_FALSE(world.disk.exists(LogWorld::path(6)));
  EXPECT_FALSE(world.disk.exists(LogWorld::path(9)));
  expect_payloads(0, 5);
  expect_idempotent();
  expect_goes_on();
}

// The same with the names behind it, which are removed only once the cut is durable.
TEST_F(RecoveryTest, ACutInFrontOfNamesThatAnEarlierStartCouldNotSyncIsSyncedByTheNext) {
  const Content torn = segment(3);
  put(0, segment(0));
  put(3, Content(torn.begin(), torn.begin() + 40));
  put(6, {});
  vouch(5, 3, 36);
  fail_to_open_for_want_of_a_sync(3);
  ASSERT_EQ(world.disk.content(LogWorld::path(3)).size(), 36U) << "what this test is about";
  open();
  EXPECT_FALSE(world.disk.exists(LogWorld::path(6)));
  world.kill();
  world.disk.lose_power([] { return false; });
  EXPECT_EQ(world.disk.content(LogWorld::path(3)).size(), 36U);
}

TEST_F(RecoveryTest, ATornSegmentAboveTheRecoveryPointIsDamageIfRecordsFollow) {
  const Content torn = segment(3);
  put(0, segment(0));
  put(3, Content(torn.begin(), torn.begin() + 40));
  put(6, segment(6));
  vouch(4, 3, 18);
  open();
  EXPECT_TRUE(world.log->recovery().damaged());
  expect_payloads(0, 5);
  expect_damaged(5, 6);
  expect_payloads(6, 9);
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, AGapAboveTheRecoveryPointEndsTheLogIfOnlyANameFollows) {
  put(0, segment(0));
  put(6, {});
  vouch(1, 0, 18);
  open();
  EXPECT_EQ(world.log->end_offset(), Offset(3));
  EXPECT_FALSE(world.disk.exists(LogWorld::path(6)));
  expect_goes_on();
}

TEST_F(RecoveryTest, AGapAboveTheRecoveryPointIsReportedIfRecordsFollow) {
  put(0, segment(0));
  put(6, segment(6));
  vouch(1, 0, 18);
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::gap});
  expect_payloads(0, 3);
  expect_damaged(3, 6);
  expect_payloads(6, 9);
  expect_goes_on();
}

TEST_F(RecoveryTest, AnOverlapAboveTheRecoveryPointEndsTheLogIfOnlyANameFollows) {
  put(0, segment(0));
  put(2, {});
  vouch(1, 0, 18);
  open();
  EXPECT_EQ(world.log->end_offset(), Offset(3));
  EXPECT_FALSE(world.disk.exists(LogWorld::path(2)));
  expect_payloads(0, 3);
  expect_goes_on();
}

TEST_F(RecoveryTest, ASegmentWithASummaryWasDurableSoItsBadRecordIsDamageAboveTheCheckpointToo) {
  ASSERT_TRUE(world.open());
  ASSERT_TRUE(
      world.append({payload(0), payload(1), payload(2), payload(3), payload(4), payload(5), payload(6)}));
  const auto old_checkpoint = world.checkpoint;
  ASSERT_TRUE(world.log->sync());
  world.kill();
  world.checkpoint = old_checkpoint;  // says offset 0
  world.disk.content(LogWorld::path(0)).resize(40);
  open();
  EXPECT_TRUE(world.log->recovery().damaged());
  expect_payloads(0, 2);
  expect_damaged(2, 3);
  expect_payloads(3, 7);
  expect_goes_on();
}

TEST_F(RecoveryTest, ASummaryWithoutItsSegmentStillVouchesForWhatCameAfter) {
  ASSERT_TRUE(world.open());
  ASSERT_TRUE(
      world.append({payload(0), payload(1), payload(2), payload(3), payload(4), payload(5), payload(6)}));
  const auto old_checkpoint = world.checkpoint;
  ASSERT_TRUE(world.log->sync());
  world.kill();
  ASSERT_TRUE(world.disk.remove(LogWorld::path(3)));
  for (int run = 0; run < 2; ++run) {
    world.checkpoint = old_checkpoint;
    open();
    EXPECT_EQ(world.outcomes(), std::set{Outcome::gap});
    expect_payloads(0, 3);
    expect_damaged(3, 6);
    expect_payloads(6, 7);
  }
}

TEST_F(RecoveryTest, ForeignFilesAreReportedAndLeftAlone) {
  const std::set<std::string> names{
      "data/t-0/00000000000000000000.index",   "data/t-0/0.log",
      "data/t-0/99999999999999999999.log",     "data/t-0/0000000000000000000a.log",
      "data/t-0/00000000000000000003.log.bak", "data/t-0/notes"};
  for (const std::string& name : names) {
    world.disk.put(name, encode("foreign"));
  }
  put(0, segment(0));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::foreign_file});
  EXPECT_EQ(world.log->recovery().findings.size(), names.size());
  for (const std::string& name : names) {
    EXPECT_EQ(world.disk.content(name), encode("foreign"));
  }
  expect_payloads(0, 3);
}

TEST_F(RecoveryTest, AnIndexFileWithoutASegmentIsRemoved) {
  put(3, segment(3));
  world.disk.put(LogWorld::path(0, ".booblik-index"), encode_index_header(Offset(0)));
  open();
  EXPECT_FALSE(world.disk.exists(LogWorld::path(0, ".booblik-index")));
  EXPECT_EQ(world.log->start_offset(), Offset(3));
}

TEST_F(RecoveryTest, ARecordLargerThanTheBlockIsSummedInPieces) {
  const std::string large(3'000'000, 'L');
  put(0, encode(Payloads{"a", large, "b"}));
  put(3, encode("c"));
  open();
  EXPECT_TRUE(world.outcomes().empty());
  EXPECT_EQ(world.read(2), "b");
  world.disk.content(LogWorld::path(0))[2'500'000] ^= std::byte{4};
  world.checkpoint.reset();
  ASSERT_TRUE(world.disk.remove(LogWorld::path(0, ".booblik-index")));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::damaged_records});
  expect_damaged(1, 2);
  EXPECT_EQ(world.read(2), "b");
}

TEST_F(RecoveryTest, TheCheckpointIsOlderThanRetention) {
  put(6, segment(6));
  vouch(2, 0, 36);
  open();
  EXPECT_TRUE(world.outcomes().empty());
  EXPECT_EQ(world.log->start_offset(), Offset(6));
  expect_payloads(6, 9);
}

// A failure at any disk operation of a start, and a start after it: the same log as without the failure.
TEST_F(RecoveryTest, AStartThatFailsAnywhereHarmsNothing) {
  const auto prepare = [this] {
    world.disk.restore({});
    const Content torn = segment(6);
    put(0, segment(0));
    put(3, segment(3) + zeros(30));
    put(6, Content(torn.begin(), torn.begin() + 40));
    put(9, zeros(50));
    vouch(4, 3, 18);
  };
  prepare();
  open();
  world.kill();
  const auto expected = world.disk.snapshot();
  for (std::int64_t failing = 0;; ++failing) {
    prepare();
    std::int64_t number = 0;
    world.disk.intercept = [&](MemoryDisk::Operation, const std::string&) {
      return number++ == failing ? MemoryDisk::Verdict{ErrorCode::io, 3} : MemoryDisk::Verdict{};
    };
    const auto checkpoint = world.checkpoint;
    const bool opened = world.open().has_value();
    world.disk.intercept = nullptr;
    world.kill();
    if (number <= failing) {
      ASSERT_GT(failing, 20) << "the loop met real operations";
      break;
    }
    if (!opened) {
      world.checkpoint = checkpoint;
    }
    open();
    ASSERT_EQ(world.read_all(0).size(), 8U) << "operation " << failing;
    world.kill();
    for (const auto& [path, content] : expected) {
      if (path.ends_with(".log")) {
        ASSERT_EQ(world.disk.content(path), content) << path << ", operation " << failing;
      }
    }
  }
}

}  // namespace
}  // namespace booblik::log
