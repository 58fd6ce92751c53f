// Signals as something that a fiber waits for.
#pragma once

#include <csignal>
#include <deque>
#include <initializer_list>
#include <memory>

#include "env/posix/descriptor.h"
#include "env/posix/reactor.h"
#include "env/sync.h"

namespace booblik::env {

// A write to a closed pipe or socket is then an error of the call and not the end of the process.
void ignore_broken_pipes();

// Takes the given signals away from their default action for as long as it lives. Made on the thread of the
// reactor before that has started workers or other threads: a signal goes to any thread that does not block
// it.
class Signals final : private ReadinessHandler {
 public:
  // Errors: too_many_files, io.
  [[nodiscard]] static Result<std::unique_ptr<Signals>> create(SystemCalls& system, Reactor& reactor,
                                                               std::initializer_list<int> numbers);
  Signals(SystemCalls& system, Reactor& reactor, Descriptor descriptor, const sigset_t& mask_before);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() override;

  // The number of the next signal, in the order of arrival; equal ones that arrive together count once.
  // Errors: timed_out, and closed after stop. Parks.
  [[nodiscard]] Result<int> wait(Deadline deadline);

  // A waiting fiber returns, and so does every later one.
  void stop();

 private:
  void on_ready(std::uint32_t epoll_events) override;

  SystemCalls& system_;
  Reactor& reactor_;
  Descriptor descriptor_;
  sigset_t mask_before_;
  WatchId watch_;
  std::deque<int> arrived_;  // bounded: the kernel keeps one of each number
  Event changed_;
  bool stopped_ = false;
};

}  // namespace booblik::env
