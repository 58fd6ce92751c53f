// What is due when: a binary heap in which every entry knows its place, so that taking one out costs no
// search.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/time.h"

namespace booblik::env {

// Something that is due at a deadline. It is in at most one heap, and takes itself out before it goes.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() = default;

  // Called on the reactor's own stack, after the timer has left the heap. Must not park.
  virtual void fire() = 0;

  [[nodiscard]] bool armed() const { return place_ != kNowhere; }

 private:
  friend class TimerHeap;
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  Deadline due_ = Deadline::never();
  std::uint64_t order_ = 0;  // among equal deadlines: as they were armed
  std::size_t place_ = kNowhere;
};

class TimerHeap {
 public:
  // `timer` is not armed, and outlives its time in the heap.
  void arm(Timer& timer, Deadline due);

  // Nothing happens if it is not armed.
  void disarm(Timer& timer);

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

  // Deadline::never() when it is empty.
  [[nodiscard]] Deadline next_due() const;

  // Takes out and fires what is due at `now`, in the order of deadlines. What is armed meanwhile waits for
  // the next call.
  void fire_due(Instant now);

 private:
  static bool before(const Timer& left, const Timer& right);
  void put(std::size_t place, Timer* timer);
  void sift_up(std::size_t place, Timer* timer);
  void sift_down(std::size_t place, Timer* timer);

  std::vector<Timer*> heap_;
  std::uint64_t armed_so_far_ = 0;
};

}  // namespace booblik::env
