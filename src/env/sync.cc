#include "env/sync.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace booblik::env {

Event::~Event() {
  BOOBLIK_CHECK(waiters_.empty(), "an event outlives those who wait on it");
}

Wake Event::wait(Deadline deadline) {
  const FiberId self = scheduler_.current();
  waiters_.push_back(self);
  const Wake wake = scheduler_.park(deadline);
  // notify_all took the list; a deadline or a stray permit leaves us on it.
  std::erase(waiters_, self);
  return wake;
}

void Event::notify_all() {
  for (const FiberId fiber : std::exchange(waiters_, {})) {
    scheduler_.unpark(fiber);
  }
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
