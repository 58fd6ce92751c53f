#include "env/sync.h"

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
