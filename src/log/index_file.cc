#include "log/index_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/check.h"
#include "base/crc32c.h"
#include "log/encoding.h"
#include "log/record.h"

namespace booblik::log {
namespace {

constexpr std::string_view kMagic = "BOOBLIDX";
constexpr std::int32_t kVersion = 1;
constexpr std::int32_t kEntriesBlock = 1;
constexpr std::int32_t kSummaryBlock = 2;
constexpr std::int32_t kSummaryTrailer = 0x5345414C;  // "SEAL"

constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kBlockFrameBytes = 12;  // kind, count, checksum
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kEntryBytes = 16;
constexpr std::size_t kSummaryFixedBytes = 56;
constexpr std::size_t kDamagedRangeBytes = 32;
constexpr std::size_t kTrailerBytes = 8;

struct Block {
  std::int32_t kind = 0;
  std::int32_t count = 0;
  Bytes payload;
  std::size_t bytes = 0;  // with its frame
};

// The block at the start of `bytes`, if it is whole.
std::optional<Block> read_block(Bytes bytes) {
  ByteReader reader(bytes);
  const auto kind = reader.read<std::int32_t>();
  const auto count = reader.read<std::int32_t>();
  if (!count || *count < 0 || (*kind != kEntriesBlock && *kind != kSummaryBlock)) {
    return std::nullopt;
  }
  const auto items = static_cast<std::size_t>(*count);
  const std::size_t size =
      *kind == kEntriesBlock ? items * kEntryBytes : kSummaryFixedBytes + items * kDamagedRangeBytes;
  const auto payload = reader.read_bytes(size);
  const auto sum = reader.read<std::uint32_t>();
  if (!payload || !sum || *sum != crc32c(bytes.first(size + 8))) {
    return std::nullopt;
  }
  return Block{*kind, *count, *payload, size + kBlockFrameBytes};
}

// Whether so many records can fill so many bytes.
bool can_fill(std::int64_t records, std::int64_t bytes) {
  return records == 0 ? bytes == 0 : records > 0 && bytes / kRecordBytesMin >= records;
}

// Inside of the segment, ascending, whole records in between: readers of the log rely on it.
bool is_sound(const std::vector<DamagedRange>& damage, const SegmentSummary& of) {
  Offset offset = of.base;
  Position position;
  for (const DamagedRange& range : damage) {
    const bool in_order = range.from >= offset && range.to > range.from && range.to <= of.end &&
                          range.position >= position && range.end > range.position &&
                          range.end <= Position(of.file_bytes);
    if (!in_order || !can_fill(range.from - offset, range.position - position)) {
      return false;
    }
    offset = range.to;
    position = range.end;
  }
  return damage.size() <= kDamagedRangesMax && can_fill(of.end - offset, of.bytes - position.value());
}

std::optional<SegmentSummary> read_summary_block(const Block& block, Offset base) {
  ByteReader reader(block.payload);
  const auto number = [&reader] { return reader.read<std::int64_t>().value_or(0); };
  SegmentSummary summary;
  summary.base = Offset(number());
  summary.end = Offset(number());
  summary.bytes = number();
  summary.file_bytes = number();
  summary.entries = number();
  summary.first_append = WallTime(number());
  summary.last_append = WallTime(number());
  for (std::int32_t i = 0; i < block.count; ++i) {
    const Offset from(number());
    const Offset to(number());
    const Position position(number());
    summary.damage.push_back({from, to, position, Position(number())});
  }
  const bool sound = summary.base == base && summary.end > base && summary.end <= kOffsetMax &&
                     summary.bytes > 0 && summary.file_bytes >= summary.bytes && summary.entries >= 0 &&
                     is_sound(summary.damage, summary);
  return sound ? std::optional(summary) : std::nullopt;
}

IndexEntry read_entry(ByteReader& reader, Offset base) {
  const Position position(reader.read<std::int64_t>().value_or(0));
  const std::int64_t distance = reader.read<std::uint32_t>().value_or(0);
  return {base + distance, position, reader.read<std::uint32_t>().value_or(0)};
}

// False when an entry does not ascend, or names what no segment has: then the block is not believed.
bool read_entries(const Block& block, SegmentIndex& index) {
  ByteReader reader(block.payload);
  for (std::int32_t i = 0; i < block.count; ++i) {
    const IndexEntry entry = read_entry(reader, index.base());
    if (!index.ascends(entry) || entry.offset > kOffsetMax || entry.position > kPositionMax) {
      return false;
    }
    index.add(entry);
  }
  return true;
}

}  // namespace

std::vector<std::byte> encode_index_header(Offset base) {
  std::vector<std::byte> out;
  append_bytes(out, as_bytes(kMagic));
  append_big_endian(out, kVersion);
  append_big_endian(out, base.value());
  append_crc32c(out, 0);
  BOOBLIK_CHECK(out.size() == kHeaderBytes, "the header has its size");
  return out;
}

void append_entries(std::vector<std::byte>& out, const SegmentIndex& index, std::size_t from,
                    std::size_t to) {
  if (from == to) {
    return;
  }
  const std::size_t begin = out.size();
  out.reserve(begin + (to - from) * kEntryBytes + kBlockFrameBytes);
  append_big_endian(out, kEntriesBlock);
  append_big_endian(out, static_cast<std::int32_t>(to - from));
  for (std::size_t i = from; i < to; ++i) {
    const IndexEntry entry = index[i];
    append_big_endian(out, entry.position.value());
    append_big_endian(out, static_cast<std::uint32_t>(entry.offset - index.base()));
    append_big_endian(out, entry.crc);
  }
  append_crc32c(out, begin);
}

void append_summary(std::vector<std::byte>& out, const SegmentSummary& summary) {
  const std::size_t begin = out.size();
  append_big_endian(out, kSummaryBlock);
  append_big_endian(out, static_cast<std::int32_t>(summary.damage.size()));
  append_big_endian(out, summary.base.value());
  append_big_endian(out, summary.end.value());
  append_big_endian(out, summary.bytes);
  append_big_endian(out, summary.file_bytes);
  append_big_endian(out, summary.entries);
  append_big_endian(out, summary.first_append.milliseconds());
  append_big_endian(out, summary.last_append.milliseconds());
  for (const DamagedRange& range : summary.damage) {
    append_big_endian(out, range.from.value());
    append_big_endian(out, range.to.value());
    append_big_endian(out, range.position.value());
    append_big_endian(out, range.end.value());
  }
  append_crc32c(out, begin);
  append_big_endian(out, static_cast<std::int32_t>(out.size() - begin));
  append_big_endian(out, kSummaryTrailer);
}

std::optional<IndexFile> decode_index_file(Bytes bytes, Offset base, std::int64_t interval_bytes) {
  if (bytes.size() < kHeaderBytes ||
      !std::ranges::equal(bytes.first(kHeaderBytes), encode_index_header(base))) {
    return std::nullopt;
  }
  IndexFile file{.index = SegmentIndex(base, interval_bytes), .valid_bytes = kHeaderBytes, .summary = {}};
  while (const auto block = read_block(bytes.subspan(static_cast<std::size_t>(file.valid_bytes)))) {
    if (block->kind == kSummaryBlock) {
      auto summary = read_summary_block(*block, base);
      if (summary && summary->entries == static_cast<std::int64_t>(file.index.size())) {
        file.summary = std::move(summary);
      }
      break;
    }
    const std::size_t entries_before = file.index.size();
    if (!read_entries(*block, file.index)) {
      const Position keep = entries_before == 0 ? Position() : file.index[entries_before - 1].position + 1;
      file.index.drop_from(keep);
      break;
    }
    file.valid_bytes += static_cast<std::int64_t>(block->bytes);
  }
  return file;
}

std::optional<FoundSummary> decode_summary(Bytes end_of_file, Offset base) {
  if (end_of_file.size() < kTrailerBytes) {
    return std::nullopt;
  }
  ByteReader trailer(end_of_file.last(kTrailerBytes));
  const std::int32_t size = trailer.read<std::int32_t>().value_or(0);
  Bytes before = end_of_file.first(end_of_file.size() - kTrailerBytes);
  if (trailer.read<std::int32_t>() != kSummaryTrailer || size <= 0 ||
      static_cast<std::size_t>(size) > before.size()) {
    return std::nullopt;
  }
  const auto block = read_block(before.last(static_cast<std::size_t>(size)));
  if (!block || block->kind != kSummaryBlock || block->bytes != static_cast<std::size_t>(size)) {
    return std::nullopt;
  }
  auto summary = read_summary_block(*block, base);
  if (!summary) {
    return std::nullopt;
  }
  before = before.first(before.size() - block->bytes);
  FoundSummary found{.summary = std::move(*summary), .last_entry = {}};
  if (found.summary.entries > 0 && before.size() >= kEntryBytes + kChecksumBytes) {
    ByteReader entry(before.last(kEntryBytes + kChecksumBytes));
    found.last_entry = read_entry(entry, base);
  }
  return found;
}

SegmentSummary summarize(const Segment& segment, const SegmentIndex& index) {
  return {.base = segment.base,
          .end = segment.end,
          .bytes = segment.bytes,
          .file_bytes = segment.file_bytes,
          .entries = static_cast<std::int64_t>(index.size()),
          .first_append = segment.times.first_wall,
          .last_append = segment.times.last_wall,
          .damage = segment.damage};
}

std::optional<FoundSummary> read_summary(env::Disk& disk, const std::string& path, Offset base) {
  const auto file = disk.open(path, env::OpenMode::read_only);
  const auto size = file ? (*file)->size() : Result<std::int64_t>(0);
  if (!file || !size) {
    return std::nullopt;
  }
  const std::int64_t wanted = std::min(*size, kSummaryBytesMax);
  std::vector<std::byte> bytes(static_cast<std::size_t>(wanted));
  const auto got = (*file)->read_at(bytes, Position(*size - wanted));
  if (!got || *got != bytes.size()) {
    return std::nullopt;
  }
  return decode_summary(bytes, base);
}

Result<std::optional<IndexFile>> read_index_file(env::Disk& disk, const std::string& path, Offset base,
                                                 std::int64_t interval_bytes, std::int64_t segment_bytes) {
  const auto file = disk.open(path, env::OpenMode::read_only);
  if (!file && file.error().code == ErrorCode::too_many_files) {
    return std::unexpected(file.error());
  }
  const auto size = file ? (*file)->size() : Result<std::int64_t>(0);
  // The shortest record has 9 bytes, an entry with a block of its own 28.
  const bool plausible = size && *size / 4 <= segment_bytes + kSummaryBytesMax;
  if (!file || !plausible) {
    return std::nullopt;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
  const auto got = (*file)->read_at(bytes, Position());
  if (!got) {
    return std::nullopt;
  }
  return decode_index_file(Bytes(bytes).first(*got), base, interval_bytes);
}

Result<void> write_index_file(env::Disk& disk, const std::string& path, Segment& segment,
                              const SegmentIndex& index, Position below, const SegmentSummary* summary) {
  const bool anew = segment.index_file_bytes == 0;
  const std::size_t from = anew ? 0 : segment.index_entries_written;
  std::size_t to = from;
  while (to < index.size() && index[to].position < below) {
    ++to;
  }
  std::vector<std::byte> bytes = anew ? encode_index_header(segment.base) : std::vector<std::byte>();
  append_entries(bytes, index, from, to);
  if (summary != nullptr) {
    append_summary(bytes, *summary);
  }
  if (bytes.empty()) {
    return {};
  }
  const std::int64_t at = std::exchange(segment.index_file_bytes, 0);
  auto file = disk.open(path, env::OpenMode::read_write);
  if (!file && file.error().code == ErrorCode::not_found) {
    file = disk.open(path, env::OpenMode::create_new);
  }
  if (!file) {
    return std::unexpected(std::move(file.error()));
  }
  // What lies behind is cut first: old blocks must not seem to continue the new ones.
  if (auto cut = (*file)->truncate(at); !cut) {
    return cut;
  }
  const Bytes part(bytes);
  if (auto written = (*file)->write_at({&part, 1}, Position(at)); !written) {
    return written;
  }
  segment.index_file_bytes = at + static_cast<std::int64_t>(bytes.size());
  segment.index_entries_written = to;
  return {};
}

}  // namespace booblik::log
