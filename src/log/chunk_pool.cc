#include "log/chunk_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace booblik::log {

ChunkPool::ChunkPool(env::Scheduler& scheduler, std::int64_t bytes_max, std::int64_t idle_bytes_max)
    : bytes_max_(bytes_max), idle_bytes_max_(idle_bytes_max), room_event_(scheduler) {}

Chunk ChunkPool::take(std::size_t bytes_min) {
  Chunk chunk;
  if (bytes_min <= kChunkBytes && !idle_.empty()) {
    chunk = std::move(idle_.back());
    idle_.pop_back();
  } else {
    chunk.capacity = std::max(bytes_min, kChunkBytes);
    chunk.memory = std::make_unique_for_overwrite<std::byte[]>(chunk.capacity);
  }
  bytes_out_ += static_cast<std::int64_t>(chunk.capacity);
  return chunk;
}

void ChunkPool::give_back(Chunk chunk) {
  const bool had_room = has_room();
  bytes_out_ -= static_cast<std::int64_t>(chunk.capacity);
  BOOBLIK_CHECK(bytes_out_ >= 0, "only chunks of this pool come back");
  const auto idle_bytes = static_cast<std::int64_t>((idle_.size() + 1) * kChunkBytes);
  if (chunk.capacity == kChunkBytes && idle_bytes <= idle_bytes_max_) {
    chunk.used = 0;
    chunk.records = 0;
    chunk.starts_segment = false;
    idle_.push_back(std::move(chunk));
  }
  if (!had_room && has_room()) {
    room_event_.notify_all();
  }
}

}  // namespace booblik::log
