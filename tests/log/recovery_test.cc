// One test for each row of the recovery table (docs/disk-format.md), and the table itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "log/index_file.h"
#include "log/recovery_table.h"
#include "log_world.h"

namespace booblik::log {
namespace {

using Payloads = std::vector<std::string>;
using Content = MemoryDisk::Content;

Content operator+(Content left, const Content& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Content zeros(std::size_t count) {
  return Content(count);
}

// Three records of 18 bytes make a segment.
Content segment(int first) {
  return encode(Payloads{std::to_string(1000000000LL + first), std::to_string(1000000001LL + first),
                         std::to_string(1000000002LL + first)});
}

std::string payload(int offset) {
  return std::to_string(1000000000LL + offset);
}

class RecoveryTest : public ::testing::Test {
 protected:
  void put(int base, Content content) { world.disk.put(LogWorld::path(base), std::move(content)); }

  void open() {
    const auto opened = world.open();
    ASSERT_TRUE(opened) << opened.error().message;
  }

  // The recovery point, in the segment with that base.
  void vouch(int offset, int segment_base, int position) {
    world.checkpoint = PartitionCheckpoint{
        {"t", PartitionId(0)}, Offset(offset), Offset(segment_base), Position(position), {}, {}};
  }

  void expect_payloads(int from, int to) {
    for (int offset = from; offset < to; ++offset) {
      const auto found = world.read(offset);
      ASSERT_TRUE(found) << offset << ": " << found.error().message;
      ASSERT_EQ(*found, payload(offset));
    }
  }

  void expect_damaged(int from, int to) {
    for (int offset = from; offset < to; ++offset) {
      const auto found = world.read(offset);
      ASSERT_FALSE(found) << offset;
      ASSERT_EQ(found.error().code, ErrorCode::damaged) << offset;
    }
  }

  // Whatever was found, the log goes on behind it, and what is appended is there after a restart.
  void expect_goes_on() {
    const std::int64_t end = world.log->end_offset().value();
    ASSERT_TRUE(world.append({"goes on"}));
    EXPECT_EQ(world.read(end), "goes on");
    world.stop();
    open();
    EXPECT_EQ(world.read(end), "goes on");
    EXPECT_EQ(world.log->end_offset(), Offset(end + 1));
  }

  // A second start finds nothing to do.
  void expect_idempotent() {
    const auto after_one = world.disk.snapshot();
    const auto checkpoint = world.checkpoint;
    open();
    EXPECT_EQ(world.disk.snapshot(), after_one);
    world.checkpoint = checkpoint;
  }

  LogWorld world{{.segment_capacity_bytes = 60, .index_interval_bytes = 1}};
};

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

// --- behind the recovery point: what the power left of segments that no barrier had covered ---

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

// --- the table ---

TEST(RecoveryTable, IsTheOneInTheDocumentation) {
  struct Row {
    EndsAt ends_at;
    std::vector<Verdict> verdicts;  // behind: nothing, zeros, bytes
  };
  const Verdict end{Outcome::torn_tail, Action::end_log};
  const std::vector<Row> rows{
      {EndsAt::newest_at_line,
       {{Outcome::clean_end, Action::keep},
        {Outcome::zero_tail, Action::cut},
        {Outcome::torn_tail, Action::cut}}},
      {EndsAt::newest_below_line,
       {{Outcome::short_segment, Action::seal},
        {Outcome::short_segment, Action::seal},
        {Outcome::damaged_records, Action::seal}}},
      {EndsAt::successor,
       {{Outcome::clean_end, Action::keep},
        {Outcome::clean_end, Action::keep},
        {Outcome::trailing_bytes, Action::keep}}},
      {EndsAt::hole_at_line, {end, end, end}},
      {EndsAt::hole_below_line,
       {{Outcome::gap, Action::keep},
        {Outcome::gap, Action::keep},
        {Outcome::damaged_records, Action::keep}}},
      {EndsAt::overlap_at_line,
       {{Outcome::clean_end, Action::end_log}, {Outcome::zero_tail, Action::end_log}, end}},
      {EndsAt::overlap_below_line,
       {{Outcome::overlap, Action::keep},
        {Outcome::overlap, Action::keep},
        {Outcome::overlap, Action::keep}}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(decide(row.ends_at, Behind::nothing), row.verdicts[0]);
    EXPECT_EQ(decide(row.ends_at, Behind::zeros), row.verdicts[1]);
    EXPECT_EQ(decide(row.ends_at, Behind::bytes), row.verdicts[2]);
  }
}

}  // namespace
}  // namespace booblik::log
