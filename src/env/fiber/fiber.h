// A body that runs on a stack of its own and hands control back in the middle: the mechanism under both
// schedulers. Who runs next, wake-ups and deadlines are theirs.
#pragma once

#include <boost/context/fiber.hpp>
#include <functional>

#include "env/fiber/sanitizer.h"
#include "env/fiber/stack_pool.h"

namespace booblik::env {

// Not movable: the body's stack refers to it. All of it belongs to one thread.
//
// An exception that leaves the body ends the process through std::terminate. No fiber may suspend
// inside a catch block: the list of caught exceptions is kept per thread, not per stack.
class Fiber {
 public:
  // Takes a stack from `stacks` at once and gives it back as soon as the body has ended. `stacks` outlives
  // the fiber. The body first runs in the first resume.
  Fiber(StackPool& stacks, std::move_only_function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // Also unwinds a body that has not ended; never from inside that body.
  ~Fiber();

  // Runs the body until it suspends or ends. Called by whoever schedules, from any other stack (also
  // from another fiber's). It must not have ended.
  void resume();

  // Called by the body, on its own stack: goes back to the resume that runs it, and returns at the next one.
  void suspend();

  // Ends a body before its time: its suspend throws an exception of a private type, so its destructors run,
  // and returns when they have. A body that has not started is dropped. While it unwinds, a body must not
  // suspend again: whoever lets a destructor park asks `unwinding` first. Frames marked noexcept end the
  // process.
  void unwind();

  // Ends a body without running it any further: no destructor runs, and the stack goes back as it is. What
  // the body owned is the caller's to clean up; only a simulator that drops a whole process at once can.
  void abandon();

  // The body has returned, was unwound or abandoned; the stack is back in the pool.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool unwinding() const { return unwinding_; }

 private:
  struct Unwind {};
  struct KeepStack;

  boost::context::fiber run(boost::context::fiber resumer) noexcept;
  void build_context();
  void release_stack();

  StackPool& stacks_;
  std::move_only_function<void()> body_;
  Stack stack_;
  boost::context::fiber
      context_;  // of the other side: the body's while it is suspended, the resumer's while it runs
  StackIdentity self_;
  StackIdentity resumer_;
  bool running_ = false;
  bool unwinding_ = false;
  bool ended_ = false;
};

}  // namespace booblik::env
