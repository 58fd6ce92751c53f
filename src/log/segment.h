// What is known about one segment file, and the names of files in a partition's directory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "env/disk.h"
#include "log/append_times.h"
#include "log/index.h"
#include "log/segment_files.h"

namespace booblik::log {

// Records that were written and cannot be read any more: offsets [from, to), which lie somewhere in the bytes
// [position, end).
struct DamagedRange {
  Offset from;
  Offset to;
  Position position;
  Position end;

  auto operator<=>(const DamagedRange&) const = default;
};

// The damaged ranges of a segment ascend and do not touch. Past so many the last one is stretched over what
// comes after.
inline constexpr std::size_t kDamagedRangesMax = 1000;

// Offsets [first, end) are served from here; positions below `bytes` are records (or known damage).
struct Segment {
  Segment(SegmentFile named, Offset base_offset, std::int64_t index_interval_bytes)
      : base(base_offset),
        first(base_offset),
        end(base_offset),
        file(std::move(named)),
        index(std::make_shared<SegmentIndex>(base_offset, index_interval_bytes)) {}

  Offset base;   // by its name
  Offset first;  // above base only where an earlier segment holds the same offsets
  Offset end;
  std::int64_t bytes = 0;
  std::int64_t file_bytes = 0;    // an older segment of the original has unwritten space behind `bytes`
  std::int64_t synced_bytes = 0;  // of `bytes`
  std::uint64_t syncs_begun = 0;
  std::vector<std::uint64_t> syncs_in_flight;  // by their numbers
  bool sealed = false;
  AppendTimes times;
  std::vector<DamagedRange> damage;
  std::uint64_t damage_changes = 0;  // since the log was opened

  SegmentFile file;
  std::shared_ptr<env::File> handle;  // of the active segment, and of one with bytes to sync
  std::shared_ptr<SegmentIndex>
      index;  // of the active segment, and until the index file is complete; else null

  std::int64_t name_generation = 0;       // PartitionLog's count of name changes when it was made
  bool pinned = false;                    // counted by SegmentFiles::pin
  bool index_file_complete = false;       // it has its summary
  bool index_file_busy = false;           // somebody is writing it
  std::size_t index_entries_written = 0;  // the entries in it
  std::int64_t index_file_bytes = 0;      // 0: begin anew

  [[nodiscard]] std::int64_t unsynced_bytes() const { return bytes - synced_bytes; }
};

// "00000000000000001234.log"
[[nodiscard]] std::string segment_file_name(Offset base);
// "00000000000000001234.booblik-index": the original and its tools give no such name.
[[nodiscard]] std::string index_file_name(Offset base);

enum class FileKind { segment, index, foreign };

struct FileName {
  FileKind kind = FileKind::foreign;
  Offset base;
};

// Reads a name of either kind; everything else (a number above kOffsetMax, too) is foreign.
[[nodiscard]] FileName parse_file_name(std::string_view name);

}  // namespace booblik::log
