#include "log/index.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace booblik::log {

void SegmentIndex::add(const IndexEntry& entry) {
  const std::int64_t distance = entry.offset - base_;
  BOOBLIK_CHECK(ascends(entry), "index entries ascend");
  next_due_ = entry.position + std::max<std::int64_t>(interval_bytes_, 1);
  if (distance <= std::numeric_limits<std::uint32_t>::max()) {
    entries_.push_back({entry.position.value(), static_cast<std::uint32_t>(distance), entry.crc});
  }
}

bool SegmentIndex::ascends(const IndexEntry& entry) const {
  if (entries_.empty()) {
    return entry.offset >= base_ && entry.position >= Position();
  }
  const IndexEntry last = unpack(entries_.back());
  return entry.offset > last.offset && entry.position > last.position;
}

void SegmentIndex::drop_from(Position position) {
  while (!entries_.empty() && entries_.back().position >= position.value()) {
    entries_.pop_back();
  }
  const Position due = entries_.empty()
                           ? Position()
                           : Position(entries_.back().position) + std::max<std::int64_t>(interval_bytes_, 1);
  next_due_ = std::min(next_due_, due);
}

IndexEntry SegmentIndex::unpack(const Packed& packed) const {
  return {
      .offset = base_ + packed.offset_from_base, .position = Position(packed.position), .crc = packed.crc};
}

IndexEntry SegmentIndex::operator[](std::size_t number) const {
  return unpack(entries_[number]);
}

SegmentIndex::Neighbours SegmentIndex::find(Offset offset) const {
  const std::int64_t wanted = offset - base_;
  const auto above = std::upper_bound(
      entries_.begin(), entries_.end(), wanted,
      [](std::int64_t value, const Packed& packed) { return value < std::int64_t{packed.offset_from_base}; });
  Neighbours neighbours;
  if (above != entries_.begin()) {
    neighbours.at_or_below = unpack(*std::prev(above));
  }
  if (above != entries_.end()) {
    neighbours.above = unpack(*above);
  }
  return neighbours;
}

std::optional<IndexEntry> SegmentIndex::first_from(Position position) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), position.value(),
                       [](const Packed& packed, std::int64_t value) { return packed.position < value; });
  if (found == entries_.end()) {
    return std::nullopt;
  }
  return unpack(*found);
}

std::int64_t SegmentIndex::memory_bytes() const {
  return static_cast<std::int64_t>(sizeof *this + entries_.capacity() * sizeof(Packed));
}

std::shared_ptr<const SegmentIndex> IndexCache::find(std::uint64_t segment) {
  const auto* found = indexes_.find(segment);
  return found == nullptr ? nullptr : *found;
}

void IndexCache::put(std::uint64_t segment, std::shared_ptr<const SegmentIndex> index) {
  const std::int64_t bytes = index->memory_bytes();
  indexes_.put(segment, std::move(index), bytes);
}

}  // namespace booblik::log
