// The scan of a segment file: where its records end, which of them are damaged, and its index, made anew.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "env/disk.h"
#include "log/index.h"
#include "log/segment.h"
#include "log/segment_reader.h"

namespace booblik::log {

// A record whose place is known from elsewhere: the recovery point, an entry of an index file that passed its
// checksums, the end of a damaged range that was found before.
struct Anchor {
  Offset offset;
  Position position;
  std::optional<std::uint32_t>
      crc;  // of its header, where it is known: it must match or the anchor is not used
};

[[nodiscard]] inline Anchor anchor_of(const IndexEntry& entry) {
  return {entry.offset, entry.position, entry.crc};
}

struct ScanRequest {
  std::int64_t file_bytes = 0;
  // Where to begin; index entries in front of it are in `index` already.
  Offset offset;
  Position position;
  // The log ends at the first bad record at or above this offset. Below it, a bad record is damage: the scan
  // goes on behind it.
  Offset ends_from;
  // What the segment should end with, where that is known: the base of its successor or the recovery point.
  std::optional<Offset> expected_end;
  std::vector<Anchor> anchors;  // ascending
  std::move_only_function<void(std::int64_t)>
      progress;  // called about once a block, and at the end, with the bytes done since; may be empty
};

inline constexpr Offset kNowhere{std::numeric_limits<std::int64_t>::max()};

struct ScanResult {
  Offset end;
  Position end_position;  // of the last record, or of the damage behind it
  RecordState stopped_at = RecordState::end_of_file;
  std::vector<DamagedRange> damage;
};

// A record with a bad checksum and a size that leads on, record by record, to an intact one is one damaged
// record. That is only a guess until the next anchor (or the expected end) is met with the offset that it
// says; if it is not, everything between the first damage and the anchor is damaged, since nobody can say
// which offsets the records in there have. A size that leads nowhere: the scan goes on at the next anchor, or
// everything up to the expected end is damaged. May park.
Result<ScanResult> scan_segment(env::File& file, ScanRequest request, SegmentIndex& index);

}  // namespace booblik::log
