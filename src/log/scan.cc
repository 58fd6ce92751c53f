#include "log/scan.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace booblik::log {
namespace {

class Scan {
 public:
  Scan(env::File& file, ScanRequest request, SegmentIndex& index)
      : request_(std::move(request)),
        reader_(file, request_.file_bytes),
        index_(index),
        offset_(request_.offset),
        position_(request_.position),
        reported_(position_) {}

  Result<ScanResult> run() {
    while (true) {
      if (doubt_) {
        meet_anchor();
      }
      auto record = reader_.check(position_);
      if (!record) {
        return std::unexpected(std::move(record.error()));
      }
      report_progress(SegmentReader::kBlockBytes);
      if (record->state == RecordState::intact) {
        take(record->header);
        continue;
      }
      const bool vouched_for = doubt_ || offset_ < request_.ends_from;
      if (!vouched_for) {
        return finish(record->state);
      }
      // Whatever lies behind the last record that the segment should have is not its next one.
      if (!doubt_ && request_.expected_end == offset_) {
        return finish(record->state);
      }
      if (record->state == RecordState::bad_checksum) {
        begin_damage();
        advance(record->header);
        continue;
      }
      const bool complete = record->state != RecordState::bad_size && request_.expected_end == offset_;
      if (complete || !jump_to_next_anchor()) {
        return finish(record->state);
      }
    }
  }

 private:
  struct Place {
    Offset offset;
    Position position;
  };
  struct Doubt {
    Place at;
    std::size_t ranges_before;
    bool anchor_looked_up = false;
    const Anchor* anchor = nullptr;
  };

  void advance(const RecordHeader& header) {
    position_ += header.record_bytes();
    offset_ += 1;
  }

  void take(const RecordHeader& header) {
    end_damage();
    if (position_ >= index_.next_due()) {
      index_.add({offset_, position_, header.crc});
    }
    advance(header);
  }

  void begin_damage() {
    if (!damage_from_) {
      damage_from_ = Place{offset_, position_};
    }
    if (!doubt_) {
      doubt_ = Doubt{Place{offset_, position_}, damage_.size()};
    }
  }

  // The damage reaches to here.
  void end_damage() {
    if (!damage_from_) {
      return;
    }
    const Place from = *std::exchange(damage_from_, std::nullopt);
    if (damage_.size() == kDamagedRangesMax) {
      damage_.back().to = offset_;
      damage_.back().end = position_;
      return;
    }
    damage_.push_back({from.offset, offset_, from.position, position_});
  }

  // Nothing since the first doubt can be numbered: all of it up to (offset, position) is one damaged range.
  void give_up_until(Offset offset, Position position) {
    damage_.resize(std::min(damage_.size(), doubt_->ranges_before));
    damage_from_ = doubt_->at;
    index_.drop_from(doubt_->at.position);
    offset_ = offset;
    position_ = position;
    end_damage();
    doubt_.reset();
  }

  // The first usable anchor behind a place.
  const Anchor* next_anchor(const Place& place) {
    const auto usable = [&](const Anchor& anchor) {
      if (anchor.offset <= place.offset || anchor.position.value() > request_.file_bytes) {
        return false;
      }
      if (!anchor.crc) {
        return true;
      }
      const auto there = reader_.peek(anchor.position);
      return there && there->state == RecordState::intact && there->header.crc == *anchor.crc;
    };
    const auto behind = std::ranges::upper_bound(request_.anchors, place.position, {}, &Anchor::position);
    const auto found = std::find_if(behind, request_.anchors.end(), usable);
    return found == request_.anchors.end() ? nullptr : &*found;
  }

  void meet_anchor() {
    if (!doubt_->anchor_looked_up) {
      doubt_->anchor = next_anchor(doubt_->at);
      doubt_->anchor_looked_up = true;
    }
    const Anchor* anchor = doubt_->anchor;
    if (anchor == nullptr || position_ < anchor->position) {
      return;
    }
    if (position_ == anchor->position && offset_ == anchor->offset) {
      end_damage();
      doubt_.reset();
      return;
    }
    give_up_until(anchor->offset, anchor->position);
  }

  bool jump_to_next_anchor() {
    const Anchor* anchor = next_anchor(doubt_ ? doubt_->at : Place{offset_, position_});
    if (anchor == nullptr) {
      return false;
    }
    begin_damage();
    give_up_until(anchor->offset, anchor->position);
    return true;
  }

  ScanResult finish(RecordState state) {
    const bool whole = state != RecordState::bad_size && request_.expected_end == offset_;
    if (doubt_ && !whole) {
      // Without anything to compare with, the offsets behind the first damage stay unknown.
      const Offset expected = std::max(request_.expected_end.value_or(offset_), doubt_->at.offset);
      give_up_until(expected, Position(request_.file_bytes));
      if (damage_.back().from == damage_.back().to) {
        position_ = damage_.back().position;
        damage_.pop_back();
      }
    }
    end_damage();
    report_progress(1);
    return {.end = offset_, .end_position = position_, .stopped_at = state, .damage = std::move(damage_)};
  }

  void report_progress(std::int64_t bytes_min) {
    if (request_.progress && position_ - reported_ >= bytes_min) {
      request_.progress(position_ - std::exchange(reported_, position_));
    }
  }

  ScanRequest request_;
  SegmentReader reader_;
  SegmentIndex& index_;
  Offset offset_;
  Position position_;
  Position reported_;
  std::vector<DamagedRange> damage_;
  std::optional<Place> damage_from_;  // inside damage since
  std::optional<Doubt> doubt_;        // the numbering since then is a guess
};

}  // namespace

Result<ScanResult> scan_segment(env::File& file, ScanRequest request, SegmentIndex& index) {
  BOOBLIK_CHECK(request.position.value() <= request.file_bytes, "a scan begins inside the file");
  return Scan(file, std::move(request), index).run();
}

}  // namespace booblik::log
