// How workers hand results back to the reactor: the only door between the threads besides the pool's own
// queue.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "env/posix/descriptor.h"
#include "env/posix/system_calls.h"

namespace booblik::env {

class CompletionQueue {
 public:
  using Completion = std::move_only_function<void()>;

  CompletionQueue(SystemCalls& system, Descriptor event) : system_(system), event_(std::move(event)) {}

  // From any thread. `completion` will run on the reactor's own stack and must not park.
  void post(Completion completion);

  // The rest is the reactor's.

  [[nodiscard]] bool empty() const { return !filled_.load(std::memory_order_acquire); }

  // Runs everything posted so far.
  void run();

  // The reactor is about to block; from here on a post makes the event descriptor readable. False: something
  // is there already, do not block.
  [[nodiscard]] bool prepare_to_block();
  void stop_blocking();

  [[nodiscard]] int event_descriptor() const { return event_.get(); }

 private:
  SystemCalls& system_;
  Descriptor event_;
  std::mutex mutex_;
  std::vector<Completion> posted_;
  bool reactor_blocks_ = false;
  std::atomic<bool> filled_ = false;  // a hint that saves the lock; posted_ is the truth
};

}  // namespace booblik::env
