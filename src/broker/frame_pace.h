// How fast the bytes of started frames come in: tells a peer that stands still, or feeds a byte now and then
// to look alive, from one that moves.
#pragma once

#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <functional>

#include "base/time.h"

namespace booblik::broker {

// The pace of one connection's started frame. What counts is silence: the time during which the broker was
// ready to receive and the peer sent nothing. It is added up until kQuantumBytes have come.
class FramePace
    : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // Brings so much within the time that is allowed, or stands still.
  static constexpr std::size_t kQuantumBytes = 64 * 1024;

  // `cut` ends the connection; called at most once, by FramePaces::cut_slowest, while the peer is waited for.
  explicit FramePace(std::move_only_function<void(Duration silence)> cut) : cut_(std::move(cut)) {}

  void note_received(std::size_t bytes) {
    received_ += bytes;
    if (received_ >= kQuantumBytes) {
      start_again();
    }
  }

  // A new frame, or a new quantum of this one.
  void start_again() {
    received_ = 0;
    silence_ = Duration(0);
  }

  // Orders by silence, longest first.
  friend bool operator<(const FramePace& left, const FramePace& right) {
    return left.silent_since_ < right.silent_since_;
  }

 private:
  friend class FramePaces;

  std::move_only_function<void(Duration silence)> cut_;
  std::size_t received_ = 0;  // in this quantum
  Duration silence_{0};       // in this quantum, of the waits that are over
  Instant silent_since_;      // while waited for: as if all silence had been one wait
};

// All connections that hold memory for a started frame and wait for their peer now.
class FramePaces {
 public:
  void begin_wait(FramePace& pace, Instant now) {
    pace.silent_since_ = Instant(now.since_start() - pace.silence_);
    waiting_.insert(pace);
  }

  // Also for one that was cut meanwhile.
  void end_wait(FramePace& pace, Instant now) {
    pace.silence_ = now - pace.silent_since_;
    pace.unlink();
  }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }

  // When the longest silence began; there must be one.
  [[nodiscard]] Instant slowest_since() const { return waiting_.begin()->silent_since_; }

  void cut_slowest(Instant now) {
    FramePace& slowest = *waiting_.begin();
    slowest.unlink();
    slowest.cut_(now - slowest.silent_since_);
  }

 private:
  boost::intrusive::multiset<FramePace, boost::intrusive::constant_time_size<false>> waiting_;
};

}  // namespace booblik::broker
