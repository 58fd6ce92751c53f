// What fibers of one reactor wait on, built on park and unpark. None of it is for threads.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>

#include "env/scheduler.h"

namespace booblik::env {

// Wakes everyone who waits. It remembers nothing: wait in a loop over your condition,
//   while (!ready) event.wait(deadline);
// which cannot lose a wake-up, since no other fiber runs between the check and the wait.
class Event {
 public:
  explicit Event(Scheduler& scheduler) : scheduler_(scheduler) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // Nobody may be waiting any more.
  ~Event();

  // May return early (Wake::unparked without a notify). Parks.
  Wake wait(Deadline deadline);

  void notify_all();

  [[nodiscard]] bool has_waiters() const { return !waiters_.empty(); }

 private:
  friend Wake wait_any(Scheduler& scheduler, Event& first, Event& second, Deadline deadline);

  // On the stack of the fiber that waits; leaves the list by itself, in constant time, when the wait ends.
  struct Waiter
      : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    explicit Waiter(FiberId waiting) : fiber(waiting) {}
    FiberId fiber;
  };

  Scheduler& scheduler_;
  boost::intrusive::list<Waiter, boost::intrusive::constant_time_size<false>> waiters_;
};

// Waits for whichever of two events comes first; like Event::wait in all else.
Wake wait_any(Scheduler& scheduler, Event& first, Event& second, Deadline deadline);

// Waits until every fiber that was added is done.
class WaitGroup {
 public:
  explicit WaitGroup(Scheduler& scheduler) : all_done_(scheduler) {}

  void add() { ++running_; }
  void done();

  // False at the deadline. Parks.
  [[nodiscard]] bool wait(Deadline deadline);

  [[nodiscard]] std::int64_t running() const { return running_; }

 private:
  Event all_done_;
  std::int64_t running_ = 0;
};

}  // namespace booblik::env
