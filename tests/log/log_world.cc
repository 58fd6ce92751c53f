#include "log_world.h"

#include <algorithm>

#include "base/crc32c.h"
#include "log/record.h"
#include "log/segment.h"

namespace booblik::log {

void TestClock::advance(Duration duration) {
  now_ = now_ + duration;
  jump_wall(duration);
}

void TestClock::jump_wall(Duration duration) {
  wall_ = WallTime(wall_.milliseconds() +
                   std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

bool TestLogger::has(std::string_view part) const {
  return std::ranges::any_of(lines,
                             [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::vector<std::byte> encode(std::string_view payload) {
  std::vector<std::byte> record(kRecordHeaderBytes + payload.size());
  store_big_endian(record.data(), static_cast<std::int32_t>(payload.size()));
  store_big_endian(record.data() + 4, crc32c_copy(record.data() + kRecordHeaderBytes, as_bytes(payload)));
  return record;
}

std::vector<std::byte> encode(const std::vector<std::string>& payloads) {
  std::vector<std::byte> all;
  for (const std::string& payload : payloads) {
    const auto record = encode(payload);
    all.insert(all.end(), record.begin(), record.end());
  }
  return all;
}

LogWorld::LogWorld(LogOptions log_options) : options(log_options) {}

std::string LogWorld::path(std::int64_t base, std::string_view suffix) {
  std::string name = segment_file_name(Offset(base));
  return "data/t-0/" + name.substr(0, 20) + std::string(suffix);
}

Result<void> LogWorld::open() {
  kill();
  files = std::make_unique<SegmentFiles>(disk, open_files_max);
  indexes = std::make_unique<IndexCache>(index_bytes_max);
  auto opened = PartitionLog::open({disk, clock, logger, probe, *files, *indexes}, {"t", PartitionId(0)},
                                   "data/t-0", options, checkpoint);
  if (!opened) {
    return std::unexpected(opened.error());
  }
  log = std::move(*opened);
  // What a data directory does after it has opened its partitions.
  log->persist_index();
  checkpoint = log->checkpoint();
  return {};
}

void LogWorld::kill() {
  log.reset();
  indexes.reset();
  files.reset();
}

void LogWorld::stop() {
  if (log->sync()) {
    log->persist_index();
    checkpoint = log->checkpoint();
  }
  kill();
}

Result<void> LogWorld::append(const std::vector<std::string>& payloads) {
  std::vector<std::vector<std::byte>> encoded;
  std::vector<RecordRun> runs;
  std::int64_t position = log->active_position().value();
  for (const std::string& payload : payloads) {
    encoded.push_back(encode(payload));
    const auto bytes = static_cast<std::int64_t>(encoded.back().size());
    const bool starts = position + bytes > log->segment_capacity_bytes();
    position = starts ? bytes : position + bytes;
    runs.push_back({encoded.back(), 1, starts});
  }
  return log->append(runs);
}

Result<std::string> LogWorld::read(std::int64_t offset) {
  auto slice = log->read(Offset(offset), 1 << 20);
  if (!slice) {
    return std::unexpected(slice.error());
  }
  if (slice->bytes == 0) {
    return fail(ErrorCode::not_found, "the end");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(slice->bytes));
  const auto got = slice->file->read_at(bytes, slice->position);
  if (!got || *got != bytes.size()) {
    return fail(ErrorCode::io, "the slice promises more than the file has");
  }
  const RecordHeader header = load_record_header(bytes.data());
  const Bytes payload =
      Bytes(bytes).subspan(kRecordHeaderBytes, static_cast<std::size_t>(header.payload_bytes));
  if (crc32c(payload) != header.crc) {
    return fail(ErrorCode::damaged, "the slice holds a bad record");
  }
  return std::string(as_text(payload));
}

std::vector<std::string> LogWorld::read_all(std::int64_t offset) {
  std::vector<std::string> payloads;
  for (auto payload = read(offset); payload; payload = read(++offset)) {
    payloads.push_back(*payload);
  }
  return payloads;
}

std::set<Outcome> LogWorld::outcomes() const {
  std::set<Outcome> outcomes;
  for (const Finding& finding : log->recovery().findings) {
    outcomes.insert(finding.outcome);
  }
  return outcomes;
}

}  // namespace booblik::log
