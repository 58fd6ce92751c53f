#include "env/sync.h"

#include <algorithm>

#include "base/check.h"

namespace booblik::env {

Event::~Event() {
  BOOBLIK_CHECK(waiters_.empty(), "an event outlives those who wait on it");
}

Wake Event::wait(Deadline deadline) {
  Waiter self(scheduler_.current());
  waiters_.push_back(self);
  return scheduler_.park(deadline);
}

void Event::notify_all() {
  while (!waiters_.empty()) {
    const FiberId fiber = waiters_.front().fiber;
    waiters_.pop_front();
    scheduler_.unpark(fiber);
  }
}

Wake wait_any(Scheduler& scheduler, Event& first, Event& second, Deadline deadline) {
  Event::Waiter in_first(scheduler.current());
  Event::Waiter in_second(scheduler.current());
  first.waiters_.push_back(in_first);
  second.waiters_.push_back(in_second);
  return scheduler.park(deadline);
}

Gate::~Gate() {
  BOOBLIK_CHECK(queue_.empty(), "a gate outlives those who wait on it");
}

bool Gate::try_acquire(std::int64_t units) {
  if (!queue_.empty() || free_ < units) {
    return false;
  }
  free_ -= units;
  return true;
}

bool Gate::acquire(std::int64_t units, Deadline deadline) {
  if (try_acquire(units)) {
    return true;
  }
  Waiter self{scheduler_.current(), units, false};
  queue_.push_back(&self);
  while (!self.granted) {
    const Wake wake = scheduler_.park(deadline);
    if (wake == Wake::deadline && !self.granted) {
      std::erase(queue_, &self);
      grant_in_order();  // those behind may fit now
      return false;
    }
  }
  return true;
}

void Gate::release(std::int64_t units) {
  free_ += units;
  grant_in_order();
}

void Gate::grant_in_order() {
  while (!queue_.empty() && queue_.front()->units <= free_) {
    Waiter* next = queue_.front();
    queue_.pop_front();
    free_ -= next->units;
    next->granted = true;
    scheduler_.unpark(next->fiber);
  }
}

void WaitGroup::done() {
  BOOBLIK_CHECK(running_ > 0, "done is called once for each add");
  if (--running_ == 0) {
    all_done_.notify_all();
  }
}

bool WaitGroup::wait(Deadline deadline) {
  while (running_ > 0) {
    if (all_done_.wait(deadline) == Wake::deadline) {
      return running_ == 0;
    }
  }
  return true;
}

}  // namespace booblik::env
