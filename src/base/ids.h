// The numbers of a log as distinct types, so that an offset cannot be passed for a position.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace booblik {

// A point on a line of `std::int64_t`: points subtract to a distance, a point plus a distance is a point.
template <class Tag>
class Point {
 public:
  constexpr Point() = default;
  constexpr explicit Point(std::int64_t value) : value_(value) {}

  [[nodiscard]] constexpr std::int64_t value() const { return value_; }

  constexpr auto operator<=>(const Point&) const = default;

  constexpr Point& operator+=(std::int64_t distance) {
    value_ += distance;
    return *this;
  }
  friend constexpr Point operator+(Point point, std::int64_t distance) {
    return Point(point.value_ + distance);
  }
  friend constexpr Point operator-(Point point, std::int64_t distance) {
    return Point(point.value_ - distance);
  }
  friend constexpr std::int64_t operator-(Point to, Point from) { return to.value_ - from.value_; }

 private:
  std::int64_t value_ = 0;
};

// The number of a record in its partition: 0, 1, 2, ... without holes.
using Offset = Point<struct OffsetTag>;

// A byte position in a segment file.
using Position = Point<struct PositionTag>;

// Partitions of a topic are numbered from 0.
class PartitionId {
 public:
  constexpr PartitionId() = default;
  constexpr explicit PartitionId(std::int32_t value) : value_(value) {}

  [[nodiscard]] constexpr std::int32_t value() const { return value_; }

  constexpr auto operator<=>(const PartitionId&) const = default;

 private:
  std::int32_t value_ = 0;
};

// Names one partition; `topic` keeps the rules of wire/topic_name.h.
struct TopicPartition {
  std::string topic;
  PartitionId partition;

  auto operator<=>(const TopicPartition&) const = default;

  // "topic-3": the name of its directory, and how it is written for people.
  [[nodiscard]] std::string to_string() const { return topic + "-" + std::to_string(partition.value()); }
};

}  // namespace booblik
