#include "log/index.h"

#include <gtest/gtest.h>

#include "log/index_file.h"
#include "log_world.h"

namespace booblik::log {
namespace {

SegmentIndex three_entries() {
  SegmentIndex index(Offset(100), 50);
  index.add({Offset(100), Position(0), 1});
  index.add({Offset(103), Position(60), 2});
  index.add({Offset(109), Position(130), 3});
  return index;
}

SegmentSummary summary_of(const SegmentIndex& index) {
  return {.base = Offset(100),
          .end = Offset(112),
          .bytes = 170,
          .file_bytes = 180,
          .entries = static_cast<std::int64_t>(index.size()),
          .first_append = WallTime(5),
          .last_append = WallTime(6),
          .damage = {{Offset(101), Offset(103), Position(20), Position(60)}}};
}

std::vector<std::byte> file_of(const SegmentIndex& index) {
  auto bytes = encode_index_header(index.base());
  append_entries(bytes, index, 0, 1);
  append_entries(bytes, index, 1, index.size());
  append_summary(bytes, summary_of(index));
  return bytes;
}

TEST(SegmentIndex, FindsTheEntriesAround) {
  const SegmentIndex index = three_entries();
  EXPECT_EQ(index.find(Offset(100)).at_or_below->position, Position(0));
  EXPECT_EQ(index.find(Offset(102)).at_or_below->position, Position(0));
  EXPECT_EQ(index.find(Offset(103)).at_or_below->position, Position(60));
  EXPECT_EQ(index.find(Offset(102)).above->offset, Offset(103));
  EXPECT_FALSE(index.find(Offset(200)).above);
  EXPECT_FALSE(SegmentIndex(Offset(0), 1).find(Offset(0)).at_or_below);
}

TEST(SegmentIndex, ForgetsWhatARollBackTakesAway) {
  SegmentIndex index = three_entries();
  EXPECT_EQ(index.next_due(), Position(180));
  index.drop_from(Position(60));
  EXPECT_EQ(index.size(), 1U);
  EXPECT_EQ(index.next_due(), Position(50)) << "what is written there next gets an entry";
  index.drop_from(Position(0));
  EXPECT_EQ(index.next_due(), Position(0));
}

TEST(SegmentIndex, AnOffsetTooFarFromTheBaseHasNoEntry) {
  SegmentIndex index(Offset(1), 10);
  index.add({Offset(1) + (std::int64_t{1} << 32U), Position(100), 1});
  EXPECT_EQ(index.size(), 0U);
  EXPECT_EQ(index.next_due(), Position(110));
}

TEST(IndexFile, ComesBack) {
  const SegmentIndex index = three_entries();
  const auto file = decode_index_file(file_of(index), Offset(100), 50);
  ASSERT_TRUE(file);
  ASSERT_EQ(file->index.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(file->index[i], index[i]);
  }
  EXPECT_EQ(file->summary, summary_of(index));
  const auto found = decode_summary(file_of(index), Offset(100));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->summary, summary_of(index));
  EXPECT_EQ(found->last_entry, index[index.size() - 1]);
  EXPECT_FALSE(decode_index_file(file_of(index), Offset(101), 50)) << "another segment's";
}

TEST(IndexFile, ACutLeavesAGoodPrefixAndAChangedBitIsNotBelieved) {
  const SegmentIndex index = three_entries();
  const auto whole = file_of(index);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const auto cut = decode_index_file(Bytes(whole).first(at), Offset(100), 50);
    EXPECT_FALSE(decode_summary(Bytes(whole).first(at), Offset(100))) << at;
    auto changed_bytes = whole;
    changed_bytes[at] ^= std::byte{0x40};
    const auto changed = decode_index_file(changed_bytes, Offset(100), 50);
    for (const auto* file : {&cut, &changed}) {
      for (std::size_t i = 0; *file && i < (*file)->index.size(); ++i) {
        EXPECT_EQ((*file)->index[i], index[i]) << at;
      }
      EXPECT_TRUE(!*file || (*file)->summary.value_or(summary_of(index)) == summary_of(index)) << at;
    }
  }
}

TEST(IndexFile, EntriesThatDoNotAscendAreNotBelieved) {
  SegmentIndex backwards(Offset(100), 1);
  backwards.add({Offset(100), Position(0), 1});
  auto bytes = encode_index_header(Offset(100));
  append_entries(bytes, backwards, 0, 1);
  append_entries(bytes, backwards, 0, 1);
  const auto file = decode_index_file(bytes, Offset(100), 1);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->index.size(), 1U);
}

// Readers of the log skip what a summary calls damaged: between two ranges there have to be whole records.
TEST(IndexFile, DamageThatCannotBeIsNotBelieved) {
  const auto believed = [](std::vector<DamagedRange> damage) {
    SegmentSummary summary = summary_of(three_entries());
    summary.damage = std::move(damage);
    std::vector<std::byte> bytes;
    append_summary(bytes, summary);
    return decode_summary(bytes, summary.base).has_value();
  };
  const auto range = [](std::int64_t from, std::int64_t to, std::int64_t position, std::int64_t end) {
    return DamagedRange{Offset(from), Offset(to), Position(position), Position(end)};
  };
  EXPECT_TRUE(believed({}));
  EXPECT_TRUE(believed({range(100, 101, 0, 20), range(101, 103, 20, 60)}));
  EXPECT_FALSE(believed({range(101, 101, 20, 60)})) << "no records";
  EXPECT_FALSE(believed({range(101, 103, 20, 20)})) << "no bytes";
  EXPECT_FALSE(believed({range(103, 104, 26, 60)})) << "three records need 27 bytes";
  EXPECT_FALSE(believed({range(100, 101, 20, 60)})) << "bytes without a record";
  EXPECT_FALSE(believed({range(101, 103, 20, 162)})) << "nine records behind it need 81 bytes";
  EXPECT_FALSE(believed({range(101, 112, 20, 160)})) << "bytes behind it without a record";
}

TEST(IndexCache, KeepsWhatFits) {
  IndexCache cache(3 * static_cast<std::int64_t>(sizeof(SegmentIndex)));
  for (std::uint64_t number = 0; number < 5; ++number) {
    cache.put(number, std::make_shared<const SegmentIndex>(Offset(0), 1));
    EXPECT_NE(cache.find(0), nullptr) << "used all the time";
  }
  EXPECT_NE(cache.find(4), nullptr);
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_LE(cache.bytes(), 3 * static_cast<std::int64_t>(sizeof(SegmentIndex)));
  cache.erase(4);
  EXPECT_EQ(cache.find(4), nullptr);
}

TEST(SegmentNames, OnlyOursAreTaken) {
  EXPECT_EQ(segment_file_name(Offset(1234)), "00000000000000001234.log");
  const FileName log = parse_file_name("00000000000000001234.log");
  EXPECT_EQ(log.kind, FileKind::segment);
  EXPECT_EQ(log.base, Offset(1234));
  EXPECT_EQ(parse_file_name(index_file_name(Offset(7))).kind, FileKind::index);
  EXPECT_EQ(parse_file_name(segment_file_name(kOffsetMax)).kind, FileKind::segment);
  for (const char* name :
       {"", ".log", "0000000000000000123.log", "04611686018427387905.log", "09223372036854775807.log",
        "09223372036854775808.log", "-0000000000000001234.log", "00000000000000001234.LOG",
        "00000000000000001234.log ", "00000000000000001234.index"}) {
    EXPECT_EQ(parse_file_name(name).kind, FileKind::foreign) << name;
  }
}

// The index file of another life of the segment must not lead a reader to a wrong record.
void expect_stale_index_is_noticed(const std::vector<std::string>& payloads,
                                   const std::vector<std::string>& stale) {
  const LogOptions options{.segment_capacity_bytes = 200, .index_interval_bytes = 1};
  LogWorld world(options);
  LogWorld other(options);
  for (auto* each : {&world, &other}) {
    ASSERT_TRUE(each->open());
    ASSERT_TRUE(each->append(each == &world ? payloads : stale));
    ASSERT_TRUE(each->append({std::string(190, 'z')}));  // seals
    each->stop();
  }
  ASSERT_EQ(world.disk.content(LogWorld::path(0)).size(), other.disk.content(LogWorld::path(0)).size());
  const auto index = other.disk.content(LogWorld::path(0, ".booblik-index"));
  for (const bool while_open : {false, true}) {
    if (while_open) {
      ASSERT_TRUE(world.open());
    }
    world.disk.put(LogWorld::path(0, ".booblik-index"), index);
    if (!while_open) {
      ASSERT_TRUE(world.open());
    }
    EXPECT_EQ(world.outcomes().contains(Outcome::wrong_index), !while_open);
    for (std::int64_t offset = static_cast<std::int64_t>(payloads.size()) - 1; offset >= 0; --offset) {
      EXPECT_EQ(world.read(offset).value_or("?"), payloads[static_cast<std::size_t>(offset)]);
    }
    EXPECT_EQ(world.probe.hits.contains("log.index_rebuilt_by_read"), while_open);
    EXPECT_FALSE(world.log->recovery().damaged());
    world.stop();
  }
}

TEST(IndexFile, AStaleOneWithOtherPositionsIsNoticed) {
  expect_stale_index_is_noticed({"aaaa", "bb", "cccccc", "dddd"}, {"dddd", "cccccc", "bb", "aaaa"});
}

// Its positions are records here, too, and the headers lead from each to the next: only the checksums differ.
TEST(IndexFile, AStaleOneThatIsOffByOneRecordIsNoticed) {
  const std::string large(32, 'L');  // as long as two others on disk
  expect_stale_index_is_noticed({"first_______", "second______", "third_______", "fourth______", large},
                                {large, "fifth_______", "sixth_______", "seventh_____", "eighth______"});
}

// The size of the first record leads to the third: what lies there must not be served for the second.
TEST(IndexFile, ADamagedSizeThatLeadsToALaterRecordIsNoticed) {
  LogWorld world({.segment_capacity_bytes = 600, .index_interval_bytes = 10'000});
  ASSERT_TRUE(world.open());
  std::vector<std::string> payloads;
  for (char letter = 'a'; letter < 'h'; ++letter) {
    payloads.emplace_back(56, letter);  // 64 bytes with the header
  }
  ASSERT_TRUE(world.append(payloads));
  ASSERT_TRUE(world.append({std::string(500, 'z')}));  // seals
  world.stop();
  ASSERT_TRUE(world.open());
  world.disk.content(LogWorld::path(0))[3] ^= std::byte{64};
  EXPECT_EQ(world.read(1).error().code, ErrorCode::damaged);
  EXPECT_EQ(world.read(0).error().code, ErrorCode::damaged);
  EXPECT_TRUE(world.log->recovery().damaged());
  EXPECT_EQ(world.read(7), std::string(500, 'z'));
}

// An index that is made anew can have fewer entries than the file says: damage leaves out what it covers, and
// so does another interval.
TEST(IndexFile, OneWithFewerEntriesThanWereWrittenIsWrittenAnew) {
  MemoryDisk disk;
  SegmentFiles files(disk, 4);
  Segment segment(files.name("data/0.log"), Offset(0), 1);
  const std::string path = "data/0.booblik-index";
  const auto index_of = [](std::int64_t entries, std::int64_t distance) {
    SegmentIndex index(Offset(0), 1);
    for (std::int64_t i = 0; i < entries; ++i) {
      index.add({Offset(i * distance), Position(i * distance * 10), 7});
    }
    return index;
  };
  ASSERT_TRUE(write_index_file(disk, path, segment, index_of(50, 1), Position(10'000), nullptr));
  EXPECT_EQ(segment.index_entries_written, 50U);

  segment.index_file_bytes = 0;  // whoever makes an index anew says so
  const SegmentIndex rebuilt = index_of(5, 10);
  segment.end = Offset(50);
  segment.bytes = segment.file_bytes = 500;
  const SegmentSummary summary = summarize(segment, rebuilt);
  ASSERT_TRUE(write_index_file(disk, path, segment, rebuilt, Position(10'000), &summary));
  EXPECT_EQ(segment.index_entries_written, 5U);
  const auto read = decode_index_file(disk.content(path), Offset(0), 1);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->index.size(), 5U);
  EXPECT_EQ(read->index[4], rebuilt[4]);
  EXPECT_EQ(read->summary, summary);
}

TEST(IndexFile, AMissingOneIsMadeAnewOnce) {
  LogWorld world({.segment_capacity_bytes = 60, .index_interval_bytes = 1});
  world.index_bytes_max = 0;  // nothing stays in memory
  ASSERT_TRUE(world.open());
  ASSERT_TRUE(world.append({std::string(40, 'a'), std::string(40, 'b'), std::string(40, 'c')}));
  world.stop();
  ASSERT_TRUE(world.open());
  ASSERT_TRUE(world.disk.remove(LogWorld::path(0, ".booblik-index")));
  EXPECT_EQ(world.read(1), std::string(40, 'b'));
  EXPECT_EQ(world.read(0), std::string(40, 'a'));
  EXPECT_EQ(world.read(1), std::string(40, 'b'));
  EXPECT_EQ(world.read(0), std::string(40, 'a'));
  EXPECT_TRUE(world.disk.exists(LogWorld::path(0, ".booblik-index")));
  EXPECT_EQ(world.log->recovery().indexes_rebuilt, 1);
}

}  // namespace
}  // namespace booblik::log
