// Index files with good checksums whose summary does not speak of the segment beside it: a start notices,
// reads the segment instead, and says so. No record is hidden or served at another offset without a word.
#include <gtest/gtest.h>

#include <functional>

#include "log/index_file.h"
#include "recovery_fixture.h"

namespace booblik::log {
namespace {

using Change = std::function<void(SegmentSummary&)>;

// Two sealed segments of three records, entries at the first and third, and an active one.
class SummaryTest : public RecoveryTest {
 protected:
  void SetUp() override {
    world.options.index_interval_bytes = 30;
    open();
    ASSERT_TRUE(
        world.append({payload(0), payload(1), payload(2), payload(3), payload(4), payload(5), payload(6)}));
    world.stop();
  }

  static std::string index_path(int base) { return LogWorld::path(base, ".booblik-index"); }

  void lie(int base, const Change& change) {
    const Content bytes = world.disk.content(index_path(base));
    auto file = decode_index_file(bytes, Offset(base), 30);
    ASSERT_TRUE(file && file->summary);
    change(*file->summary);
    Content out(bytes.begin(), bytes.begin() + file->valid_bytes);
    append_summary(out, *file->summary);
    world.disk.put(index_path(base), out);
  }

  void forget_the_active_segment() {
    ASSERT_TRUE(world.disk.remove(LogWorld::path(6)));
    world.checkpoint.reset();
  }

  void expect_noticed(int base) {
    EXPECT_TRUE(world.outcomes().contains(Outcome::wrong_index));
    EXPECT_TRUE(world.logger.has(index_file_name(Offset(base)) + ": its summary"));
    EXPECT_TRUE(world.probe.hits.contains("recovery.summary_lied"));
  }

  // The index file that was made anew tells the truth.
  void expect_mended() {
    world.kill();
    world.probe.hits.clear();
    open();
    EXPECT_FALSE(world.outcomes().contains(Outcome::wrong_index));
    EXPECT_FALSE(world.probe.hits.contains("recovery.summary_lied"));
  }
};

const std::vector<std::pair<std::string, Change>> kLies{
    {"end: one less", [](SegmentSummary& lie) { lie.end += -1; }},
    {"end: one more", [](SegmentSummary& lie) { lie.end += 1; }},
    {"end: many more", [](SegmentSummary& lie) { lie.end += 1'000'000; }},
    {"bytes: a record less", [](SegmentSummary& lie) { lie.bytes -= 18; }},
    {"bytes: one less", [](SegmentSummary& lie) { lie.bytes -= 1; }},
    {"end and bytes: a record less",
     [](SegmentSummary& lie) {
       lie.end += -1;
       lie.bytes -= 18;
     }},
    {"end and bytes: a record less, but for the index",
     [](SegmentSummary& lie) {
       lie.end += -1;
       lie.bytes -= 18;
       lie.entries -= 1;
     }},
    {"entries: none", [](SegmentSummary& lie) { lie.entries = 0; }},
    {"damage: an intact record",
     [](SegmentSummary& lie) { lie.damage = {{lie.base + 1, lie.base + 2, Position(18), Position(36)}}; }},
    {"damage: an intact record at the end",
     [](SegmentSummary& lie) { lie.damage = {{lie.base + 2, lie.base + 3, Position(36), Position(54)}}; }},
    {"damage: everything",
     [](SegmentSummary& lie) { lie.damage = {{lie.base, lie.end, Position(), Position(54)}}; }},
    {"damage: no record begins there",
     [](SegmentSummary& lie) { lie.damage = {{lie.base + 1, lie.base + 2, Position(20), Position(30)}}; }},
};

TEST_F(SummaryTest, ALieAboutAnOlderSegmentHidesNothing) {
  const auto before = world.disk.snapshot();
  const auto checkpoint = world.checkpoint;
  for (const auto& [name, change] : kLies) {
    if (name == "entries: none") {
      continue;  // all that it says of the segment is true
    }
    SCOPED_TRACE(name);
    world.kill();
    world.disk.restore(before);
    world.checkpoint = checkpoint;
    world.logger.lines.clear();
    lie(0, change);
    open();
    if (name != "end: many more") {  // more than the bytes could hold: as good as no summary
      expect_noticed(0);
    }
    expect_payloads(0, 7);
    EXPECT_EQ(world.disk.content(LogWorld::path(0)), segment(0));
    expect_mended();
    expect_payloads(0, 7);
    expect_goes_on();
  }
}

TEST_F(SummaryTest, ALieAboutTheNewestSegmentHidesNothingAndNoOffsetIsGivenTwice) {
  forget_the_active_segment();
  const auto before = world.disk.snapshot();
  for (const auto& [name, change] : kLies) {
    SCOPED_TRACE(name);
    world.kill();
    world.disk.restore(before);
    world.checkpoint.reset();
    lie(3, change);
    open();
    expect_payloads(0, 6);
    EXPECT_GE(world.log->end_offset(), Offset(6));
    // More than there is may have been durable and lost: then the log goes on behind it, and says so.
    EXPECT_EQ(world.log->end_offset() > Offset(6), world.log->recovery().damaged());
    EXPECT_LE(world.log->end_offset(), Offset(7)) << "no more than the bytes can hold";
    expect_mended();
    expect_payloads(0, 6);
    expect_goes_on();
  }
}

// Found by fuzzing: the new segment got the name of the one that was cut to nothing.
TEST_F(SummaryTest, ASegmentWithoutARecordIsNotFollowedByAnotherOfItsName) {
  forget_the_active_segment();
  ASSERT_TRUE(world.disk.remove(LogWorld::path(0)));
  ASSERT_TRUE(world.disk.remove(index_path(0)));
  lie(3, [](SegmentSummary& lie) { lie.end += 1'000'000; });
  world.disk.content(LogWorld::path(3))[0] ^= std::byte{7};
  open();
  EXPECT_EQ(world.log->end_offset(), Offset(3));
  expect_goes_on();
}

TEST_F(SummaryTest, AFileOfAnotherSizeIsScanned) {
  for (const int more : {-18, 18}) {
    lie(0, [&](SegmentSummary& lie) {
      lie.file_bytes += more;
      lie.bytes = std::min(lie.bytes, lie.file_bytes);
    });
    open();
    EXPECT_EQ(world.log->recovery().segments_scanned, 2) << "and the active one";
    expect_payloads(0, 7);
    world.stop();
  }
}

TEST_F(SummaryTest, DamageThatIsThereIsTakenFromTheSummary) {
  world.disk.content(LogWorld::path(0))[30] ^= std::byte{1};
  world.disk.content(index_path(0)).pop_back();
  world.checkpoint.reset();
  open();
  EXPECT_EQ(world.log->recovery().damaged_offsets, 1);
  world.stop();
  open();
  EXPECT_EQ(world.outcomes(), std::set{Outcome::damaged_records});
  EXPECT_EQ(world.log->recovery().segments_scanned, 1) << "the active one";
  expect_damaged(1, 2);
  expect_payloads(2, 7);
}

TEST_F(SummaryTest, RecordsThatWereMendedAreServedAgain) {
  world.disk.content(LogWorld::path(0))[30] ^= std::byte{1};
  world.disk.content(index_path(0)).pop_back();
  world.checkpoint.reset();
  open();
  world.stop();
  world.disk.content(LogWorld::path(0))[30] ^= std::byte{1};
  open();
  EXPECT_FALSE(world.log->recovery().damaged());
  expect_payloads(0, 7);
}

TEST_F(SummaryTest, ASegmentThatCannotBeReadDoesNotKeepTheBrokerDown) {
  world.disk.intercept = [](MemoryDisk::Operation operation, const std::string& path) {
    const bool fails = operation == MemoryDisk::Operation::read && path == LogWorld::path(0);
    return fails ? MemoryDisk::Verdict{ErrorCode::io, 0} : MemoryDisk::Verdict{};
  };
  open();
  world.disk.intercept = nullptr;
  EXPECT_TRUE(world.logger.has("was not compared with its index file"));
  expect_payloads(0, 7);
}

// The end, what lies behind it, and the damage are each looked at.
TEST_F(SummaryTest, AComparisonMayFailAtEachOfItsReads) {
  put(0, segment(0) + zeros(6));
  world.disk.content(LogWorld::path(0))[30] ^= std::byte{1};
  world.disk.content(index_path(0)).pop_back();
  world.checkpoint.reset();
  open();
  world.stop();
  const auto before = world.disk.snapshot();
  const auto checkpoint = world.checkpoint;
  int failed = 0;
  for (int fails = 0; fails == failed; ++fails) {
    SCOPED_TRACE(fails);
    world.kill();
    world.disk.restore(before);
    world.checkpoint = checkpoint;
    world.logger.lines.clear();
    int reads = 0;
    world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string& path) {
      const bool compares = operation == MemoryDisk::Operation::read && path == LogWorld::path(0);
      return compares && reads++ == fails ? MemoryDisk::Verdict{ErrorCode::io, 0} : MemoryDisk::Verdict{};
    };
    open();
    world.disk.intercept = nullptr;
    failed += reads > fails ? 1 : 0;
    EXPECT_EQ(world.logger.has("was not compared with its index file"), reads > fails);
    expect_payloads(0, 1);
    expect_damaged(1, 2);
    expect_payloads(2, 7);
  }
  EXPECT_GE(failed, 3);
}

// Found by fuzzing: a slice that ended within the record, or before it.
TEST_F(SummaryTest, DamageThatContradictsTheEntriesCutsNoRecord) {
  for (const int position : {10, 20}) {
    SCOPED_TRACE(position);
    lie(0, [&](SegmentSummary& lie) {
      lie.damage = {{Offset(2), Offset(3), Position(position), Position(54)}};
    });
    open();
    const auto slice = world.log->read(Offset(1), 1000);
    ASSERT_TRUE(slice) << slice.error().message;
    EXPECT_GE(slice->bytes, 18);
    expect_payloads(0, 7);
    world.stop();
  }
}

// Found by fuzzing: what a start takes from the file into the memory of the active segment may lie as well.
TEST_F(SummaryTest, AnEntryOfTheActiveSegmentThatLiesHidesNothing) {
  world.options = {.segment_capacity_bytes = 200, .index_interval_bytes = 1};
  open();
  ASSERT_TRUE(world.append({payload(7), payload(8)}));
  world.log->persist_index();
  world.stop();
  const Content bytes = world.disk.content(index_path(6));
  const auto file = decode_index_file(bytes, Offset(6), 1);
  ASSERT_TRUE(file && file->index.size() == 3 && !file->summary);
  SegmentIndex lying(Offset(6), 1);
  for (std::size_t i = 0; i < file->index.size(); ++i) {
    IndexEntry entry = file->index[i];
    entry.position += i == 1 ? 1 : 0;
    lying.add(entry);
  }
  Content out = encode_index_header(Offset(6));
  append_entries(out, lying, 0, lying.size());
  world.disk.put(index_path(6), out);
  open();
  expect_payloads(0, 9);
  EXPECT_FALSE(world.log->recovery().damaged());
  ASSERT_TRUE(world.append({payload(9)}));
  expect_payloads(0, 10);
  EXPECT_EQ(world.log->recovery().indexes_rebuilt, 1) << "the lie is gone";
}

// Other records in a file that is in use: what cannot be numbered any more is told once, and remembered.
TEST_F(SummaryTest, MoreRecordsThanThereWereAreDamageThatIsTold) {
  open();
  world.disk.content(LogWorld::path(0)) = encode(Payloads{"1", "2", "3", "4", "5", "6"});
  world.logger.lines.clear();
  int lines = 0;
  for (int i = 0; i < 3; ++i) {
    const auto found = world.read(2);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::damaged);
    lines = i == 0 ? static_cast<int>(world.logger.lines.size()) : lines;
  }
  EXPECT_TRUE(world.log->recovery().damaged());
  EXPECT_TRUE(world.logger.has("damaged: offsets"));
  EXPECT_EQ(static_cast<int>(world.logger.lines.size()), lines) << "once";
}

}  // namespace
}  // namespace booblik::log
