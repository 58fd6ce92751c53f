// One test for each row of the recovery table (docs/disk-format.md): below the recovery point, and in the
// newest segment.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "log/index_file.h"
#include "recovery_fixture.h"

namespace booblik::log {
namespace {

TEST_F(RecoveryTest, CleanEnd) {
  put(0, segment(0));
  put(3, encode(payload(3)));
  open();
  EXPECT_TRUE(world.outcomes().empty());
  EXPECT_EQ(world.log->end_offset(), Offset(4));
  expect_payloads(0, 4);
  EXPECT_EQ(world.log->recovery().bytes_rewritten, 72) << "nobody vouched for them";
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, ZeroTailOfTheNewestIsCut) {
  put(0, segment(0) + zeros(100));
  put(3, encode(payload(3)) + zeros(4000));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::zero_tail});
  EXPECT_EQ(world.disk.content(LogWorld::path(3)).size(), 18U);
  EXPECT_EQ(world.disk.content(LogWorld::path(0)).size(), 154U) << "an older segment stays as it is";
  expect_payloads(0, 4);
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, ZeroTailShorterThanAHeader) {
  put(0, encode(payload(0)) + zeros(5));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::zero_tail});
  EXPECT_EQ(world.log->end_offset(), Offset(1));
  expect_goes_on();
}

TEST_F(RecoveryTest, AnEmptyNewestSegmentIsFine) {
  put(0, segment(0));
  put(3, {});
  open();
  EXPECT_TRUE(world.outcomes().empty());
  EXPECT_EQ(world.log->segment_count(), 2U);
  expect_goes_on();
}

TEST_F(RecoveryTest, TornTailsOfTheNewestAreCutBeforeAnythingIsAppended) {
  const Content whole = segment(0);
  for (std::size_t cut = 1; cut < 18; ++cut) {
    put(0, Content(whole.begin(), whole.begin() + 36 + static_cast<std::ptrdiff_t>(cut)));
    world.checkpoint.reset();
    open();
    // The size of a small record begins with zeros.
    EXPECT_EQ(world.outcomes(), std::set{cut <= 3 ? Outcome::zero_tail : Outcome::torn_tail}) << cut;
    EXPECT_EQ(world.log->end_offset(), Offset(2)) << cut;
    EXPECT_EQ(world.disk.content(LogWorld::path(0)).size(), 36U);
    world.kill();
    world.disk.lose_power([] { return false; });
    EXPECT_EQ(world.disk.content(LogWorld::path(0)).size(), 36U) << "the cut is synced";
  }
  open();
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, ACutIsSyncedAlsoWhenEveryRecordWasDurableBefore) {
  put(0, segment(0) + Content(9, std::byte{7}));
  vouch(3, 0, 54);
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::torn_tail});
  world.kill();
  world.disk.lose_power([] { return false; });
  EXPECT_EQ(world.disk.content(LogWorld::path(0)).size(), 54U);
}

// A sync of a start that ended with an error was all that stood between the cut and the disk: the next start
// finds a file that seems to have ended there all along.
TEST_F(RecoveryTest, ACutThatAnEarlierStartCouldNotSyncIsSyncedByTheNext) {
  put(0, segment(0) + Content(9, std::byte{7}));
  vouch(3, 0, 54);
  fail_to_open_for_want_of_a_sync(0);
  ASSERT_EQ(world.disk.content(LogWorld::path(0)).size(), 54U) << "what this test is about";
  open();
  world.kill();
  world.disk.lose_power([] { return false; });
  EXPECT_EQ(world.disk.content(LogWorld::path(0)).size(), 54U);
}

TEST_F(RecoveryTest, ABadChecksumEndsTheNewestAndWhatLiesBehindNeverComesBack) {
  Content bytes = segment(0);
  bytes[30] ^= std::byte{1};
  put(0, bytes);
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::torn_tail});
  EXPECT_EQ(world.log->end_offset(), Offset(1));
  ASSERT_TRUE(world.append({"0123456789"}));  // of the size of the bad one
  EXPECT_EQ(world.log->end_offset(), Offset(2));
  world.kill();
  open();
  EXPECT_EQ(world.read_all(0), (Payloads{payload(0), "0123456789"}));
}

TEST_F(RecoveryTest, SizesThatCannotBeAreTornTails) {
  for (const std::uint32_t size : {0xFFFFFFFFU, 0x80000000U, 0x7FFFFFFFU, 11U}) {
    Content bytes = encode(payload(0)) + encode(payload(1));
    store_big_endian(bytes.data() + 18, size);
    put(0, bytes);
    world.checkpoint.reset();
    open();
    EXPECT_EQ(world.outcomes(), std::set{Outcome::torn_tail}) << size;
    EXPECT_EQ(world.log->end_offset(), Offset(1)) << size;
  }
}

TEST_F(RecoveryTest, BytesAboveTheRecoveryPointAreRewrittenAndSyncedAndThoseBelowAreNotRead) {
  put(0, segment(0));
  open();  // makes the index file
  world.stop();
  ASSERT_TRUE(world.checkpoint);
  world.disk.put(LogWorld::path(0), segment(0));
  vouch(2, 0, 36);
  std::vector<std::pair<MemoryDisk::Operation, std::string>> seen;
  world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string& path) {
    seen.emplace_back(operation, path);
    return MemoryDisk::Verdict{};
  };
  open();
  world.disk.intercept = nullptr;
  EXPECT_EQ(world.log->recovery().bytes_scanned, 18);
  EXPECT_EQ(world.log->recovery().bytes_rewritten, 18);
  const auto write = std::ranges::find(seen, std::pair(MemoryDisk::Operation::write, LogWorld::path(0)));
  const auto sync = std::ranges::find(seen, std::pair(MemoryDisk::Operation::sync, LogWorld::path(0)));
  ASSERT_NE(write, seen.end());
  ASSERT_NE(sync, seen.end());
  EXPECT_LT(write, sync);
}

TEST_F(RecoveryTest, ABadRecordBelowTheRecoveryPointIsDamageAndIsNeverCut) {
  Content bytes = segment(0);
  bytes[30] ^= std::byte{1};
  put(0, bytes);
  vouch(3, 0, 54);
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::damaged_records});
  EXPECT_EQ(world.log->recovery().damaged_offsets, 1);
  EXPECT_GT(world.logger.errors, 0);
  EXPECT_EQ(world.disk.content(LogWorld::path(0)), bytes);
  EXPECT_EQ(world.log->end_offset(), Offset(3));
  EXPECT_TRUE(world.disk.exists(LogWorld::path(3))) << "appends go to a new segment";
  expect_payloads(0, 1);
  expect_damaged(1, 2);
  expect_payloads(2, 3);
  EXPECT_EQ(world.log->read(Offset(0), 1000)->bytes, 18) << "a slice ends before damage";
  expect_idempotent();
  expect_goes_on();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::damaged_records})
      << "still known after a start that scans nothing";
  expect_damaged(1, 2);
}

TEST_F(RecoveryTest, TheNewestIsShorterThanTheRecoveryPoint) {
  put(0, encode(payload(0)) + Content(9, std::byte{7}));
  vouch(3, 0, 54);
  open();
  EXPECT_EQ(world.log->start_offset(), Offset(0));
  EXPECT_EQ(world.log->end_offset(), Offset(3)) << "no offset that was durable gets other content";
  EXPECT_EQ(world.disk.content(LogWorld::path(0)).size(), 27U);
  expect_payloads(0, 1);
  expect_damaged(1, 3);
  EXPECT_TRUE(world.log->recovery().damaged());
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, TheNewestEndsCleanlyBelowTheRecoveryPoint) {
  put(0, encode(payload(0)));
  vouch(3, 0, 54);
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::short_segment});
  EXPECT_EQ(world.log->end_offset(), Offset(3));
  expect_damaged(1, 3);
  expect_goes_on();
}

TEST_F(RecoveryTest, AllSegmentsAreMissing) {
  vouch(70, 60, 100);
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::missing_log});
  EXPECT_EQ(world.log->start_offset(), Offset(70));
  expect_goes_on();
}

TEST_F(RecoveryTest, ABadRecordInAnOlderSegmentIsDamage) {
  Content bytes = segment(0);
  bytes[30] ^= std::byte{1};
  put(0, bytes);
  put(3, segment(3));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::damaged_records});
  EXPECT_EQ(world.disk.content(LogWorld::path(0)), bytes);
  expect_payloads(0, 1);
  expect_damaged(1, 2);
  expect_payloads(2, 6);
  EXPECT_EQ(world.log->end_offset(), Offset(6));
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, ABadSizeInAnOlderSegmentDamagesTheRestOfItWithoutAnIndex) {
  Content bytes = segment(0);
  bytes[18] = std::byte{0x7F};
  put(0, bytes);
  put(3, segment(3));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::damaged_records});
  expect_payloads(0, 1);
  expect_damaged(1, 3);
  expect_payloads(3, 6);
  expect_goes_on();
}

TEST_F(RecoveryTest, ABadSizeIsSteppedOverWithTheHelpOfTheIndexFile) {
  put(0, segment(0));
  put(3, segment(3));
  open();
  world.stop();
  Content bytes = segment(0) + zeros(1);  // another size, so that the summary does not spare the scan
  bytes[18] = std::byte{0x7F};
  put(0, bytes);
  open();
  expect_payloads(0, 1);
  expect_damaged(1, 2);
  expect_payloads(2, 6);
  EXPECT_EQ(world.outcomes(), std::set{Outcome::damaged_records});
  expect_goes_on();
}

TEST_F(RecoveryTest, AnIndexEntryShowsThatASizeSkippedARecord) {
  world.options.index_interval_bytes = 30;  // entries for the first and the third record
  put(0, segment(0));
  put(3, segment(3));
  open();
  world.stop();
  Content bytes = segment(0) + zeros(1);  // another size, so that the summary does not spare the scan
  store_big_endian(bytes.data(), std::int32_t{28});
  put(0, bytes);
  open();
  expect_damaged(0, 2);
  expect_payloads(2, 6);
}

TEST_F(RecoveryTest, SyncedSegmentsAreVouchedForByTheirSummariesAlone) {
  open();
  ASSERT_TRUE(
      world.append({payload(0), payload(1), payload(2), payload(3), payload(4), payload(5), payload(6)}));
  const auto old_checkpoint = world.checkpoint;
  ASSERT_TRUE(world.log->sync());
  world.kill();
  world.checkpoint = old_checkpoint;
  open();
  EXPECT_EQ(world.log->recovery().bytes_scanned, 18);
  EXPECT_EQ(world.log->recovery().bytes_rewritten, 18);
  expect_payloads(0, 7);
}

// The size leads to the next record but one, so that a walk would give the last record the wrong offset.
TEST_F(RecoveryTest, ASizeThatSkipsARecordDoesNotRenumberWhatFollows) {
  Content bytes = encode(Payloads{payload(0), payload(1), payload(2), payload(3)});
  store_big_endian(bytes.data(), std::int32_t{28});  // 10 + 18
  put(0, bytes);
  put(4, segment(4));
  open();
  expect_damaged(0, 4);
  expect_payloads(4, 7);
}

TEST_F(RecoveryTest, AGapBetweenOlderSegments) {
  put(0, segment(0));
  put(10, segment(10));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::gap});
  EXPECT_EQ(world.log->recovery().damaged_offsets, 7);
  expect_payloads(0, 3);
  expect_damaged(3, 10);
  expect_payloads(10, 13);
  EXPECT_EQ(world.log->end_offset(), Offset(13));
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, AnOlderSegmentWithABytesBehindItsLastRecord) {
  put(0, segment(0) + Content(5, std::byte{1}));
  put(3, segment(3));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::trailing_bytes});
  EXPECT_FALSE(world.log->recovery().damaged());
  expect_payloads(0, 6);
  expect_goes_on();
}

// Found by fuzzing: with an index file that knows of them, records behind a bad one at the end of an older
// segment hid those of the next.
TEST_F(RecoveryTest, ATornGroupBehindTheEndOfAnOlderSegmentHidesNothing) {
  Content torn = encode(Payloads{"torn", "whole", "whole, too"});
  const std::uint32_t crc = load_big_endian<std::uint32_t>(torn.data() + 12 + 4);
  torn[8] ^= std::byte{1};
  put(0, segment(0) + torn);
  put(3, segment(3));
  SegmentIndex index(Offset(0), 1);
  index.add({Offset(4), Position(54 + 12), crc});
  Content file = encode_index_header(Offset(0));
  append_entries(file, index, 0, 1);
  world.disk.put(LogWorld::path(0, ".booblik-index"), file);
  open();
  expect_payloads(0, 6);
  EXPECT_FALSE(world.outcomes().contains(Outcome::overlap));
  expect_idempotent();
  expect_goes_on();
}

TEST_F(RecoveryTest, AnOverlapServesTheEarlierSegmentAndNumbersThatTheNextConfirms) {
  put(0, segment(0));
  put(2, encode(Payloads{"not two", payload(3), payload(4)}));
  put(5, segment(5));
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::overlap});
  expect_payloads(0, 8);
  expect_goes_on();
}

TEST_F(RecoveryTest, AnOverlapThatNothingConfirmsIsNotServed) {
  put(0, segment(0));
  put(2, encode(Payloads{"real", "offset", "is five"}));
  put(8, segment(8));
  open();
  EXPECT_TRUE(world.outcomes().contains(Outcome::overlap));
  expect_payloads(0, 3);
  expect_damaged(3, 8);
  expect_payloads(8, 11);
  EXPECT_TRUE(world.disk.exists(LogWorld::path(2))) << "left alone";
  expect_goes_on();
}

TEST_F(RecoveryTest, ANewestSegmentThatOverlapsIsNotAppendedTo) {
  put(0, segment(0));
  put(2, encode(Payloads{"x", "y", "z"}));
  open();
  EXPECT_EQ(world.log->end_offset(), Offset(5)) << "behind every offset that some file claims";
  expect_payloads(0, 3);
  expect_damaged(3, 5);
  expect_goes_on();
}

TEST_F(RecoveryTest, ASegmentThatHoldsRecordsIsNotRemovedForOneThatRunsOverIt) {
  // Files that were copied together: the second claims the offsets of the third, and more.
  put(0, segment(0));
  put(2, segment(2) + segment(5));
  put(4, segment(4));
  vouch(3, 0, 54);
  const auto before = world.disk.content(LogWorld::path(4));
  open();
  ASSERT_TRUE(world.disk.exists(LogWorld::path(4)));
  EXPECT_EQ(world.disk.content(LogWorld::path(4)), before);
  EXPECT_TRUE(world.outcomes().contains(Outcome::overlap));
  expect_payloads(0, 3);
}

TEST_F(RecoveryTest, ALongStartSaysHowFarItIsAlsoWhenEverySegmentIsSmall) {
  for (int base = 0; base < 30; base += 3) {
    put(base, segment(base));
  }
  world.disk.intercept = [this](MemoryDisk::Operation operation, const std::string&) {
    world.clock.advance(std::chrono::seconds(operation == MemoryDisk::Operation::sync ? 1 : 0));
    return MemoryDisk::Verdict{};
  };
  open();
  EXPECT_TRUE(world.logger.has("recovering"));
  world.logger.lines.clear();
  open();
  EXPECT_FALSE(world.logger.has("recovering"));
}

TEST_F(RecoveryTest, ALogWithoutOffsetsLeftIsRefusedWithAReason) {
  world.disk.put("data/t-0/" + segment_file_name(kOffsetMax), encode(Payloads{"one", "two"}));
  const auto opened = world.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::invalid);
  EXPECT_NE(opened.error().message.find("none is left"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace booblik::log
