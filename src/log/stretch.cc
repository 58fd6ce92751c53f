#include "log/stretch.h"

#include <algorithm>

#include "log/record.h"
#include "log/segment_reader.h"

namespace booblik::log {
namespace {

// What a walk reads at once: more than an index interval is not needed, and a larger one is walked in
// pieces.
constexpr std::int64_t kWalkBlockBytes = 64 * 1024;

}  // namespace

Result<std::optional<Position>> walk(env::File& file, const Stretch& stretch, Offset offset) {
  const std::int64_t bytes = stretch.end.position - stretch.begin.position;
  if (bytes <= 0) {
    return std::nullopt;
  }
  SegmentReader reader(file, stretch.end.position.value(),
                       std::clamp(bytes, kRecordHeaderBytes, kWalkBlockBytes));
  std::optional<Position> found;
  Position position = stretch.begin.position;
  Offset at = stretch.begin.offset;
  while (position < stretch.end.position) {
    const auto record = reader.peek(position);
    if (!record) {
      return std::unexpected(record.error());
    }
    const bool begins_well =
        at != stretch.begin.offset || !stretch.begin.crc || record->header.crc == *stretch.begin.crc;
    if (record->state != RecordState::intact || !begins_well) {
      return std::nullopt;
    }
    if (at == offset) {
      found = position;
    }
    position += record->header.record_bytes();
    at += 1;
  }
  return at == stretch.end.offset ? found : std::nullopt;
}

}  // namespace booblik::log
