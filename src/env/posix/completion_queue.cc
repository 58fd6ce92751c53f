#include "env/posix/completion_queue.h"

#include <utility>

#include "env/posix/system_error.h"

namespace booblik::env {

void CompletionQueue::post(Completion completion) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(completion));
    filled_.store(true, std::memory_order_release);
    wake = std::exchange(reactor_blocks_, false);
  }
  if (wake) {
    const std::uint64_t one = 1;
    static_cast<void>(
        uninterrupted([&] { return system_.write(event_.get(), std::as_bytes(std::span(&one, 1))); }));
  }
}

void CompletionQueue::run() {
  std::vector<Completion> completions;
  {
    const std::lock_guard lock(mutex_);
    completions.swap(posted_);
    filled_.store(false, std::memory_order_release);
  }
  for (Completion& completion : completions) {
    completion();
  }
}

bool CompletionQueue::prepare_to_block() {
  const std::lock_guard lock(mutex_);
  reactor_blocks_ = posted_.empty();
  return reactor_blocks_;
}

void CompletionQueue::stop_blocking() {
  const std::lock_guard lock(mutex_);
  reactor_blocks_ = false;
}

}  // namespace booblik::env
