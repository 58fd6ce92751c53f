#include "env/posix/timer_heap.h"

#include <utility>

#include "base/check.h"

namespace booblik::env {

bool TimerHeap::before(const Timer& left, const Timer& right) {
  return left.due_ != right.due_ ? left.due_ < right.due_ : left.order_ < right.order_;
}

void TimerHeap::put(std::size_t place, Timer* timer) {
  heap_[place] = timer;
  timer->place_ = place;
}

void TimerHeap::sift_up(std::size_t place, Timer* timer) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (!before(*timer, *heap_[parent])) {
      break;
    }
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, timer);
}

void TimerHeap::sift_down(std::size_t place, Timer* timer) {
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) {
      ++child;
    }
    if (!before(*heap_[child], *timer)) {
      break;
    }
    put(place, heap_[child]);
    place = child;
  }
  put(place, timer);
}

void TimerHeap::arm(Timer& timer, Deadline due) {
  BOOBLIK_CHECK(!timer.armed(), "a timer is armed once at a time");
  timer.due_ = due;
  timer.order_ = armed_so_far_++;
  heap_.push_back(&timer);
  sift_up(heap_.size() - 1, &timer);
}

void TimerHeap::disarm(Timer& timer) {
  if (!timer.armed()) {
    return;
  }
  const std::size_t place = std::exchange(timer.place_, Timer::kNowhere);
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) {
    return;
  }
  if (place > 0 && before(*last, *heap_[(place - 1) / 2])) {
    sift_up(place, last);
  } else {
    sift_down(place, last);
  }
}

Deadline TimerHeap::next_due() const {
  return heap_.empty() ? Deadline::never() : heap_.front()->due_;
}

void TimerHeap::fire_due(Instant now) {
  const std::uint64_t first_new = armed_so_far_;
  while (!heap_.empty() && heap_.front()->due_.passed(now) && heap_.front()->order_ < first_new) {
    Timer& due = *heap_.front();
    disarm(due);
    due.fire();
  }
}

}  // namespace booblik::env
