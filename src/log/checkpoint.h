// What a run knew to be durable, kept in `<data>/checkpoint` so that the next start can skip it and can tell
// a torn tail from damage. Derived: deleting it costs time, never data.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace booblik::log {

// The recovery point of one partition: everything below `offset` was durable.
struct PartitionCheckpoint {
  TopicPartition id;
  Offset offset;          // the first that is not vouched for
  Offset segment_base;    // the segment that `offset` lies in (or would be appended to)
  Position position;      // where `offset` lies in it
  WallTime first_append;  // of that segment: when its oldest record came; 0 if it has none
  WallTime last_append;

  auto operator<=>(const PartitionCheckpoint&) const = default;
};

// docs/disk-format.md has the grammar: magic, version, count, entries, CRC-32C over all of it.
[[nodiscard]] std::vector<std::byte> encode_checkpoints(const std::vector<PartitionCheckpoint>& checkpoints);

// Total; `damaged` for anything that encode_checkpoints did not write.
[[nodiscard]] Result<std::vector<PartitionCheckpoint>> decode_checkpoints(Bytes bytes);

}  // namespace booblik::log
