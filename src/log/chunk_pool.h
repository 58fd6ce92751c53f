// Memory for records on their way to a file, shared by all partitions of a reactor and bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "env/sync.h"

namespace booblik::log {

// Whole encoded records that go into one segment, contiguous, so that a group is written with few large
// parts.
struct Chunk {
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
  std::size_t used = 0;
  std::int64_t records = 0;
  bool starts_segment = false;

  [[nodiscard]] Bytes bytes() const { return {memory.get(), used}; }
  [[nodiscard]] std::size_t room() const { return capacity - used; }
};

class ChunkPool {
 public:
  // Large enough that a write is dominated by its bytes, small enough to stay in the second-level cache.
  static constexpr std::size_t kChunkBytes = 256 * 1024;

  // `bytes_max`: what may be out before has_room() says no. `idle_bytes_max`: what is kept for reuse.
  ChunkPool(env::Scheduler& scheduler, std::int64_t bytes_max, std::int64_t idle_bytes_max);

  // A chunk of at least `bytes_min`. It is given even when there is no room, so that a batch that was begun
  // can be finished: who stages asks has_room() before a batch.
  [[nodiscard]] Chunk take(std::size_t bytes_min);

  void give_back(Chunk chunk);

  [[nodiscard]] bool has_room() const { return bytes_out_ < bytes_max_; }
  [[nodiscard]] std::int64_t bytes_out() const { return bytes_out_; }

  // Notified when there is room again.
  [[nodiscard]] env::Event& room_event() { return room_event_; }

 private:
  const std::int64_t bytes_max_;
  const std::int64_t idle_bytes_max_;
  std::int64_t bytes_out_ = 0;
  std::vector<Chunk> idle_;  // all of kChunkBytes
  env::Event room_event_;
};

}  // namespace booblik::log
