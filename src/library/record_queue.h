// Records on their way from user threads to the reactor: one block of memory, filled by those and taken whole
// by that. Whoever uses it holds a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace booblik::library {

class RecordQueue {
 public:
  void push(PartitionId partition, Bytes value) {
    const Header header{partition.value(), static_cast<std::uint32_t>(value.size())};
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof header + value.size());  // all of it or, without memory, nothing
    std::memcpy(bytes_.data() + at, &header, sizeof header);
    std::memcpy(bytes_.data() + at + sizeof header, value.data(), value.size());
    ++count_;
  }

  // With the memory that a record takes in the queue.
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::int64_t count() const { return count_; }

  // Calls `take(partition, value)` for each record in order.
  template <class Take>
  void for_each(Take&& take) const {
    std::size_t at = 0;
    while (at < bytes_.size()) {
      Header header;
      std::memcpy(&header, bytes_.data() + at, sizeof header);
      at += sizeof header;
      take(PartitionId(header.partition), Bytes(bytes_.data() + at, header.size));
      at += header.size;
    }
  }

  // Keeps the memory, unless it is more than `kept_bytes_max`.
  void clear(std::size_t kept_bytes_max) {
    if (bytes_.capacity() > kept_bytes_max) {
      bytes_ = {};
    }
    bytes_.clear();
    count_ = 0;
  }

  void swap(RecordQueue& other) noexcept {
    bytes_.swap(other.bytes_);
    std::swap(count_, other.count_);
  }

 private:
  struct Header {
    std::int32_t partition;
    std::uint32_t size;
  };

  std::vector<std::byte> bytes_;
  std::int64_t count_ = 0;
};

}  // namespace booblik::library
