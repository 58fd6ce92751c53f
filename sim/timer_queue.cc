#include "sim/timer_queue.h"

#include <algorithm>
#include <utility>

namespace booblik::sim {
namespace {

// For a heap whose front is the earliest.
bool later(const TimerQueue::Timer& left, const TimerQueue::Timer& right) {
  return left.when != right.when ? left.when > right.when : left.order > right.order;
}

}  // namespace

void TimerQueue::push(Timer timer) {
  timer.order = ++orders_;
  heap_.push_back(timer);
  std::ranges::push_heap(heap_, later);
}

void TimerQueue::add_wait(Instant when, std::size_t slot, std::uint64_t wait) {
  push(Timer{.when = when, .order = 0, .slot = slot, .wait = wait, .is_action = false, .action = 0});
}

void TimerQueue::add_action(Instant when, std::move_only_function<void()> action) {
  std::size_t index = actions_.size();
  if (free_actions_.empty()) {
    actions_.push_back(std::move(action));
  } else {
    index = free_actions_.back();
    free_actions_.pop_back();
    actions_[index] = std::move(action);
  }
  push(Timer{.when = when, .order = 0, .slot = 0, .wait = 0, .is_action = true, .action = index});
}

TimerQueue::Timer TimerQueue::pop() {
  std::ranges::pop_heap(heap_, later);
  const Timer timer = heap_.back();
  heap_.pop_back();
  return timer;
}

std::move_only_function<void()> TimerQueue::take_action(const Timer& timer) {
  free_actions_.push_back(timer.action);
  return std::exchange(actions_[timer.action], nullptr);
}

void TimerQueue::drop_stale(const std::function<bool(const Timer&)>& stale) {
  std::erase_if(heap_, [&](const Timer& timer) { return !timer.is_action && stale(timer); });
  std::ranges::make_heap(heap_, later);
}

}  // namespace booblik::sim
