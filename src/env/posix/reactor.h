// The production scheduler: one thread that runs fibers, waits for readiness with epoll, and takes results
// from workers.
//
// Fairness: ready fibers run in the order in which they became ready. While some are always ready, readiness
// and timers are looked at after at most kResumesPerPoll of them or about kPollInterval, whichever is first.
// With nothing ready the thread blocks in the kernel and uses no processor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/clock.h"
#include "env/fiber/fiber.h"
#include "env/posix/completion_queue.h"
#include "env/posix/descriptor.h"
#include "env/posix/system_calls.h"
#include "env/posix/timer_heap.h"
#include "env/scheduler.h"

namespace booblik::env {

// Learns of readiness. Called on the reactor's own stack; must not park.
class ReadinessHandler {
 public:
  virtual ~ReadinessHandler() = default;
  virtual void on_ready(std::uint32_t epoll_events) = 0;
};

// A registration in the reactor; 0 is none.
struct WatchId {
  std::uint64_t value = 0;
};

class Reactor final : public Scheduler {
 public:
  // Errors: too_many_files, io.
  [[nodiscard]] static Result<std::unique_ptr<Reactor>> create(SystemCalls& system, Clock& clock,
                                                               StackPool::Options stacks);
  Reactor(SystemCalls& system, Clock& clock, StackPool::Options stacks, Descriptor epoll, Descriptor event);
  // Unwinds the fibers that are left.
  ~Reactor() override;

  // Runs `main_body` as the fiber "main", and all others, until `main_body` has returned. Not from a fiber.
  void run(std::move_only_function<void()> main_body);

  // Names of the fibers that have not ended, in the order of their slots.
  [[nodiscard]] std::vector<std::string> unfinished() const;

  // Ends those fibers where they are parked: their destructors run, nothing else of them does.
  void unwind_unfinished();

  FiberId spawn(std::string name, std::move_only_function<void()> body) override;
  [[nodiscard]] FiberId current() const override;
  void yield() override;
  Wake park(Deadline deadline) override;
  void unpark(FiberId fiber) override;

  // Watches a descriptor, edge-triggered, for input, output, the peer's end and errors. Closing the
  // descriptor ends it in the kernel; unwatch makes sure that an event already fetched does not reach a
  // handler that is gone.
  [[nodiscard]] Result<WatchId> watch(int descriptor, ReadinessHandler& handler);
  void unwatch(WatchId watch);

  // Timers of those who have no fiber of their own.
  TimerHeap& timers() { return timers_; }
  CompletionQueue& completions() { return completions_; }
  Clock& clock() { return clock_; }

  [[nodiscard]] std::size_t live_stacks() const { return stacks_.live(); }

 private:
  class Task;
  struct Watch {
    ReadinessHandler* handler = nullptr;
    std::uint32_t generation = 1;
  };

  void run_ready();
  void poll(bool may_block);
  void dispatch(const epoll_event& event);
  [[nodiscard]] Duration time_to_block() const;
  void make_ready(Task& task);
  [[nodiscard]] Task* find(FiberId fiber) const;
  void retire(Task& task);

  SystemCalls& system_;
  Clock& clock_;
  StackPool stacks_;
  Descriptor epoll_;
  CompletionQueue completions_;
  TimerHeap timers_;
  std::vector<epoll_event> events_;

  std::vector<std::unique_ptr<Task>> tasks_;  // by slot
  std::vector<std::uint64_t> generations_;    // by slot
  std::vector<std::size_t> free_slots_;
  std::deque<Task*> ready_;
  Task* running_ = nullptr;

  std::vector<Watch> watches_;  // by slot
  std::vector<std::size_t> free_watches_;

  std::uint32_t resumes_since_poll_ = 0;
  Instant last_poll_;
};

}  // namespace booblik::env
