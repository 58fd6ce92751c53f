// A start from any data directory: it succeeds or says why not; nothing that was read is rewritten to other
// bytes, only cut or removed where no record begins; every offset in the log is a record or damage; the log
// goes on; and a second start finds nothing left to do. In front of that there may be a start on a disk that
// fails.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "directory_image.h"
#include "disk_faults.h"
#include "log/data_directory.h"
#include "log/record.h"
#include "log/segment_reader.h"
#include "log_world.h"

namespace booblik::fuzz {
namespace {

using Files = std::map<std::string, log::MemoryDisk::Content>;

constexpr std::int64_t kProbedMax = 48;  // offsets, from either end of a log

struct World {
  std::string path;
  std::int64_t capacity;
  std::size_t open_files;
  log::MemoryDisk disk;
};

class Start {
 public:
  explicit Start(World& world) {
    auto opened = log::DataDirectory::open(world.disk, clock_, logger_, probe_,
                                           {.path = world.path,
                                            .topics = {{kTopic, kPartitions}},
                                            .log = {world.capacity, kIndexInterval},
                                            .open_segment_files_max = world.open_files,
                                            .index_cache_bytes_max = 4096});
    if (opened) {
      directory_ = std::move(*opened);
      return;
    }
    BOOBLIK_CHECK(!opened.error().message.empty(), "a start that fails says why");
    BOOBLIK_CHECK(opened.error().code == ErrorCode::invalid || world.disk.intercept,
                  "a disk that works is opened, unless the configuration does not fit what is there");
  }

  [[nodiscard]] bool succeeded() const { return directory_ != nullptr; }
  [[nodiscard]] log::DataDirectory& directory() { return *directory_; }

 private:
  log::TestClock clock_;
  log::TestLogger logger_;
  log::TestProbe probe_;
  std::unique_ptr<log::DataDirectory> directory_;
};

void check_offset(log::PartitionLog& log, Offset offset) {
  const auto slice = log.read(offset, 1 << 20);
  if (!slice) {
    BOOBLIK_CHECK(slice.error().code == ErrorCode::damaged,
                  "an offset of the log can be read, or is damaged");
    BOOBLIK_CHECK(log.recovery().damaged(), "what cannot be read is in the report");
    return;
  }
  BOOBLIK_CHECK(slice->high_watermark == log.end_offset(), "a slice says where the log ends");
  BOOBLIK_CHECK(slice->bytes > 0 && slice->file != nullptr, "an offset of the log has bytes");
  const auto size = slice->file->size();
  BOOBLIK_CHECK(size && slice->position.value() + slice->bytes <= *size, "a slice lies in its file");
}

void check_log(log::PartitionLog& log) {
  const Offset start = log.start_offset();
  const Offset end = log.end_offset();
  BOOBLIK_CHECK(Offset(0) <= start && start <= end, "a log has a start and an end");
  BOOBLIK_CHECK(log.durable_offset() == end, "a start vouches for what it found");
  BOOBLIK_CHECK(!log.failure(), "a disk that works makes no log fail");
  const std::int64_t count = end - start;
  for (std::int64_t index = 0; index < std::min(count, kProbedMax); ++index) {
    check_offset(log, start + index);
    check_offset(log, end + (-index - 1));
  }
  const auto at_end = log.read(end, 100);
  BOOBLIK_CHECK(at_end && at_end->bytes == 0, "at the end there is nothing yet");
}

void check_goes_on(log::PartitionLog& log) {
  const Offset end = log.end_offset();
  const auto record = log::encode("goes on");
  const bool full =
      log.active_position().value() + static_cast<std::int64_t>(record.size()) > log.segment_capacity_bytes();
  const log::RecordRun run{record, 1, full};
  BOOBLIK_CHECK(log.append({&run, 1}).has_value(), "the log can be appended to");
  BOOBLIK_CHECK(log.sync() == end + 1, "what was appended is durable");
  const auto slice = log.read(end, 1 << 20);
  BOOBLIK_CHECK(slice && slice->bytes == static_cast<std::int64_t>(record.size()),
                "what was appended can be read");
  std::vector<std::byte> bytes(record.size());
  BOOBLIK_CHECK(slice->file->read_at(bytes, slice->position) == bytes.size() && bytes == record,
                "it is what was appended");
}

bool begins_with_a_record(log::MemoryDisk::Content content) {
  log::MemoryDisk disk;
  disk.put("data/x", std::move(content));
  const auto file = disk.open("data/x", env::OpenMode::read_only);
  const auto first = log::SegmentReader(**file, (*file)->size().value()).check(Position(0));
  return first && first->state == log::RecordState::intact;
}

// Nothing that recovery does makes other bytes out of those that were there.
void check_kept(const Files& before, const log::MemoryDisk& disk) {
  const Files after = disk.snapshot();
  for (const auto& [path, content] : before) {
    if (!path.ends_with(".log")) {
      continue;
    }
    const auto found = after.find(path);
    if (found == after.end()) {
      BOOBLIK_CHECK(!begins_with_a_record(content), "no file is removed that begins with a record");
      continue;
    }
    BOOBLIK_CHECK(found->second.size() <= content.size() &&
                      std::equal(found->second.begin(), found->second.end(), content.begin()),
                  "a segment is only ever cut");
  }
}

// Index files are derived: a later start may finish what an earlier one left out.
Files segments_of(const log::MemoryDisk& disk) {
  Files files = disk.snapshot();
  std::erase_if(files, [](const auto& file) { return !file.first.ends_with(".log"); });
  return files;
}

// It may fail, but never makes anything worse.
void start_on_a_failing_disk(World& world, DiskFaults& faults) {
  const Files before = world.disk.snapshot();
  faults.arm(world.disk);
  Start start(world);
  world.disk.intercept = nullptr;
  if (faults.cuts()) {
    return;
  }
  check_kept(before, world.disk);
  if (start.succeeded()) {
    for (const auto& log : start.directory().partitions()) {
      check_log(*log);
    }
  }
}

void check_directory(InputReader& input) {
  static constexpr std::int64_t kCapacities[] = {64, 300, 1'000'000};
  const std::int64_t capacity = kCapacities[input.below(3)];
  const std::uint8_t choices = input.byte();
  World world{.path = (choices & 0x40U) == 0 ? "data" : "deep/data",
              .capacity = capacity,
              .open_files = 1U + choices % 4U,
              .disk = {}};
  std::optional<DiskFaults> faults;
  if ((choices & 0x80U) != 0) {
    faults.emplace(input);
  }
  put_directory(input, world.disk, world.path);
  if (faults) {
    start_on_a_failing_disk(world, *faults);
  }
  const Files before = world.disk.snapshot();
  {
    Start first(world);
    check_kept(before, world.disk);
    if (!first.succeeded()) {
      return;
    }
  }
  // As left by a start that was killed: the next one finds the same log.
  const Files after_one = segments_of(world.disk);
  std::vector<std::pair<Offset, Offset>> ranges;
  {
    Start second(world);
    BOOBLIK_CHECK(second.succeeded(), "a start that worked works again");
    BOOBLIK_CHECK(segments_of(world.disk) == after_one, "a second start finds nothing to do");
    for (const auto& log : second.directory().partitions()) {
      check_log(*log);
      check_goes_on(*log);
      ranges.emplace_back(log->start_offset(), log->end_offset());
    }
  }
  Start third(world);
  const bool full =
      std::ranges::any_of(ranges, [](const auto& range) { return range.second >= log::kOffsetMax; });
  BOOBLIK_CHECK(third.succeeded() || full, "a log that went on opens, unless it took the last offset");
  if (!third.succeeded()) {
    return;
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto& log = *third.directory().partitions()[i];
    BOOBLIK_CHECK(log.start_offset() == ranges[i].first && log.end_offset() == ranges[i].second,
                  "what was appended and synced is there after a restart");
  }
}

}  // namespace
}  // namespace booblik::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  booblik::fuzz::InputReader input(data, size);
  booblik::fuzz::check_directory(input);
  return 0;
}
