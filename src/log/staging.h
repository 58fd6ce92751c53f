// Records wait here, already encoded as they will lie on disk, until the writer takes them. Encoding happens
// once, when a record arrives: copy and checksum in one pass.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/ids.h"
#include "log/chunk_pool.h"

namespace booblik::log {

// What becomes of the records that one gathered write takes. Shared by the writer and all who wait for it.
struct GroupFate {
  enum class State { staged, written, failed };
  State state = State::staged;
  Offset base;  // of the group's first record, once written
};

// The batches of one gathered write.
struct Group {
  std::shared_ptr<GroupFate> fate = std::make_shared<GroupFate>();
  std::vector<Chunk> chunks;
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  bool wants_barrier = false;
};

class Staging {
 public:
  static constexpr std::size_t kRecordHeaderBytes = 8;

  // A group takes batches until it holds `group_bytes_max`: one write should not hold the reactor for long.
  Staging(ChunkPool& pool, std::int64_t segment_capacity, std::int64_t group_bytes_max)
      : pool_(pool), segment_capacity_(segment_capacity), group_bytes_max_(group_bytes_max) {}

  // Where the next record will lie, as far as is known: the writer says so whenever nothing is staged.
  void set_planned_position(Position position) { planned_ = position; }

  // The group that the next batch goes into, and the number of its first record there. To be followed by
  // add() for each record of the batch, with nothing in between that may park. `batch_bytes` is its size on
  // disk.
  struct Place {
    std::shared_ptr<GroupFate> fate;
    std::int64_t first = 0;
  };
  Place begin_batch(std::int64_t batch_bytes, bool wants_barrier);

  // payload: not empty, and with its header it fits a segment (checked).
  void add(Bytes payload) {
    const std::size_t bytes = kRecordHeaderBytes + payload.size();
    std::byte* to = make_room(bytes);
    store_big_endian(to, static_cast<std::int32_t>(payload.size()));
    store_big_endian(to + 4, crc32c_copy(to + kRecordHeaderBytes, payload));
  }

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  // The oldest group; there must be one.
  [[nodiscard]] Group take();

 private:
  std::byte* make_room(std::size_t bytes) {
    Group& group = groups_.back();
    const auto size = static_cast<std::int64_t>(bytes);
    const bool fits_segment = planned_.value() + size <= segment_capacity_;
    if (group.chunks.empty() || group.chunks.back().room() < bytes || !fits_segment) [[unlikely]] {
      start_chunk(group, bytes, !fits_segment);
    }
    Chunk& chunk = group.chunks.back();
    std::byte* to = chunk.memory.get() + chunk.used;
    chunk.used += bytes;
    ++chunk.records;
    ++group.records;
    group.bytes += size;
    bytes_ += size;
    planned_ += size;
    return to;
  }

  void start_chunk(Group& group, std::size_t bytes, bool starts_segment);

  ChunkPool& pool_;
  const std::int64_t segment_capacity_;
  const std::int64_t group_bytes_max_;
  Position planned_;
  std::int64_t bytes_ = 0;
  std::deque<Group> groups_;
};

}  // namespace booblik::log
