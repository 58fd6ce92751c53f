// Memory for fiber stacks.
#pragma once

#include <cstddef>
#include <vector>

namespace booblik::env {

// A stack grows down from lowest + size to lowest; the page below `lowest` faults.
struct Stack {
  std::byte* lowest = nullptr;
  std::size_t size = 0;  // usable bytes, a multiple of the page size
};

// Frames are several times larger under the sanitizers, and without optimisation.
[[nodiscard]] std::size_t default_stack_bytes();

// Stacks are mapped one by one, each above a guard page, so an overflow ends the process instead of writing
// into a neighbour. The last one released is the next one handed out (its pages are still in the cache). Not
// for threads.
class StackPool {
 public:
  struct Options {
    std::size_t stack_bytes = default_stack_bytes();  // rounded up to whole pages
    std::size_t idle_stacks_max = 128;                // more than these are given back to the system
  };

  explicit StackPool(Options options);
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  // Every stack must have been released.
  ~StackPool();

  // The contents are whatever the last user left. Ends the process when the system has no memory for it.
  [[nodiscard]] Stack acquire();

  // Nothing may be running on it.
  void release(Stack stack);

  // Stacks that are handed out, for leak checks.
  [[nodiscard]] std::size_t live() const { return live_; }
  [[nodiscard]] std::size_t idle() const { return idle_.size(); }

 private:
  std::size_t page_bytes_;
  std::size_t stack_bytes_;
  std::size_t idle_stacks_max_;
  std::size_t live_ = 0;
  std::vector<Stack> idle_;
};

}  // namespace booblik::env
