// `<base>.booblik-index`: the index of a segment on disk, and, once the segment is sealed and synced, its
// summary. Derived: deleting it costs a scan, never data. docs/disk-format.md has the grammar.
//
// The file is never synced and is believed only as far as its checksums reach: blocks of entries are appended
// while the segment grows, so a cut anywhere leaves a prefix that is good. An entry is checked again when it
// is used (index.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "env/disk.h"
#include "log/index.h"
#include "log/segment.h"

namespace booblik::log {

// Written only after every byte of the segment and its name were synced: whoever finds it knows that the
// segment was durable.
struct SegmentSummary {
  Offset base;
  Offset end;
  std::int64_t bytes = 0;
  std::int64_t file_bytes = 0;
  std::int64_t entries = 0;  // in the blocks before
  WallTime first_append;     // 0: not known
  WallTime last_append;
  std::vector<DamagedRange> damage;

  auto operator<=>(const SegmentSummary&) const = default;
};

[[nodiscard]] SegmentSummary summarize(const Segment& segment, const SegmentIndex& index);

// --- bytes ---

[[nodiscard]] std::vector<std::byte> encode_index_header(Offset base);
// Entries [from, to) as one block; nothing when there are none.
void append_entries(std::vector<std::byte>& out, const SegmentIndex& index, std::size_t from, std::size_t to);
void append_summary(std::vector<std::byte>& out, const SegmentSummary& summary);

struct IndexFile {
  SegmentIndex index;
  std::int64_t valid_bytes = 0;  // header and blocks up to the first that is not whole
  std::optional<SegmentSummary> summary;
};

// Total: takes any bytes and keeps the longest prefix that is well-formed. Nullopt when not even the header
// is, or when it is another segment's.
[[nodiscard]] std::optional<IndexFile> decode_index_file(Bytes bytes, Offset base,
                                                         std::int64_t interval_bytes);

// The summary and the entry in front of it, from the last bytes of a file (kSummaryBytesMax of them, or all).
// The checksum of the entry's block is not looked at.
struct FoundSummary {
  SegmentSummary summary;
  std::optional<IndexEntry> last_entry;
};
inline constexpr std::int64_t kSummaryBytesMax = 128 + 32 * static_cast<std::int64_t>(kDamagedRangesMax);
[[nodiscard]] std::optional<FoundSummary> decode_summary(Bytes end_of_file, Offset base);

// --- files ---

// Nullopt for a file that is missing, unreadable or wrong; all mean the same to the caller. May park.
[[nodiscard]] std::optional<FoundSummary> read_summary(env::Disk& disk, const std::string& path, Offset base);

// As above, of a segment of `segment_bytes` bytes (a larger file than those can need is wrong). The one error
// is too_many_files, which says nothing about the file. May park.
[[nodiscard]] Result<std::optional<IndexFile>> read_index_file(env::Disk& disk, const std::string& path,
                                                               Offset base, std::int64_t interval_bytes,
                                                               std::int64_t segment_bytes);

// Brings the file of `segment` up to date with the entries of `index` below `below`, and adds `summary` if
// there is one. On a failure the next call writes the file anew. Not synced. One caller at a time for a
// segment (index_file_busy). May park.
Result<void> write_index_file(env::Disk& disk, const std::string& path, Segment& segment,
                              const SegmentIndex& index, Position below, const SegmentSummary* summary);

}  // namespace booblik::log
