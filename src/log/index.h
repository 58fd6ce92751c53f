// The sparse index of one segment: about every index_interval_bytes an entry that says which record lies
// where.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "log/lru.h"
#include "log/record.h"

namespace booblik::log {

// A record of a segment. `crc` is the checksum field of its header: a lookup compares it with the bytes it
// finds, so an entry that does not belong to them is noticed and never served from.
struct IndexEntry {
  Offset offset;
  Position position;
  std::uint32_t crc = 0;

  auto operator<=>(const IndexEntry&) const = default;
};

// Sixteen bytes an entry. Entries ascend in offset and position.
class SegmentIndex {
 public:
  SegmentIndex(Offset base, std::int64_t interval_bytes) : base_(base), interval_bytes_(interval_bytes) {}

  [[nodiscard]] Offset base() const { return base_; }

  [[nodiscard]] std::int64_t interval_bytes() const { return interval_bytes_; }

  // Records that begin below this position need no entry.
  [[nodiscard]] Position next_due() const { return next_due_; }

  // Whether `entry` lies behind all others.
  [[nodiscard]] bool ascends(const IndexEntry& entry) const;

  // Adds an entry that ascends (checked). A record more than 2^32 behind the base is left out: finding it
  // takes a longer walk.
  void add(const IndexEntry& entry);

  // Forgets the entries at and behind `position`.
  void drop_from(Position position);

  // The last entry at or below `offset`, and the first above it.
  struct Neighbours {
    std::optional<IndexEntry> at_or_below;
    std::optional<IndexEntry> above;
  };
  [[nodiscard]] Neighbours find(Offset offset) const;

  // The first entry at or behind `position`.
  [[nodiscard]] std::optional<IndexEntry> first_from(Position position) const;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] IndexEntry operator[](std::size_t number) const;
  [[nodiscard]] std::int64_t memory_bytes() const;

 private:
  struct Packed {
    std::int64_t position;
    std::uint32_t offset_from_base;
    std::uint32_t crc;
  };

  [[nodiscard]] IndexEntry unpack(const Packed& packed) const;

  Offset base_;
  std::int64_t interval_bytes_;
  Position next_due_;
  std::vector<Packed> entries_;
};

// Indexes of segments that are not appended to, by SegmentFile::number(), bounded by their memory.
class IndexCache {
 public:
  explicit IndexCache(std::int64_t bytes_max) : indexes_(bytes_max) {}

  // Null when it is not in memory.
  [[nodiscard]] std::shared_ptr<const SegmentIndex> find(std::uint64_t segment);
  void put(std::uint64_t segment, std::shared_ptr<const SegmentIndex> index);
  void erase(std::uint64_t segment) { indexes_.erase(segment); }

  [[nodiscard]] std::int64_t bytes() const { return indexes_.cost(); }

 private:
  Lru<std::shared_ptr<const SegmentIndex>> indexes_;
};

}  // namespace booblik::log
