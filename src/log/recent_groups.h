// Where the last groups began that were appended. Whoever follows the end of the log asks for exactly these
// offsets, and is answered without a look at the index and the file.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/ids.h"

namespace booblik::log {

class RecentGroups {
 public:
  // A group began at `offset`, at `position` in the segment with that base; above all that were added before.
  void add(Offset segment_base, Offset offset, Position position) {
    places_[next_ % places_.size()] = {segment_base, offset, position};
    ++next_;
  }

  [[nodiscard]] std::optional<Position> find(Offset segment_base, Offset offset) const {
    for (const Place& place : places_) {
      if (place.offset == offset && place.segment_base == segment_base) {
        return place.position;
      }
    }
    return std::nullopt;
  }

 private:
  struct Place {
    Offset segment_base{-1};
    Offset offset{-1};
    Position position;
  };

  std::array<Place, 32> places_;
  std::size_t next_ = 0;
};

}  // namespace booblik::log
