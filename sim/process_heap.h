// The address space of a simulated process. A killed process runs no destructors: its fibers are abandoned
// where they stand and everything that they had allocated goes at once, as when the kernel ends a real one.
// So nothing of a dead process can touch the living world, and nothing of it leaks.
//
// The replaced operator new puts each allocation into the heap that is current when it is made; operator
// delete finds the owner in front of the block, so memory may be freed under any other heap. Blocks are
// malloc's, which keeps the sanitizers' view of them. The environment works under the world's own heap
// (HeapScope), because what it keeps must outlive the process that called it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace booblik::sim {

struct HeapBlock;  // in front of every allocation

class ProcessHeap {
 public:
  ProcessHeap() = default;
  ProcessHeap(const ProcessHeap&) = delete;
  ProcessHeap& operator=(const ProcessHeap&) = delete;
  // Frees what is left.
  ~ProcessHeap() { free_all(); }

  // Frees every block at once. Nothing may use them any more, and none is being freed.
  void free_all();

  [[nodiscard]] std::int64_t live_bytes() const { return live_bytes_; }
  [[nodiscard]] std::int64_t live_blocks() const { return live_blocks_; }

  // For leak reports: size and first bytes of the `count` youngest blocks.
  [[nodiscard]] std::vector<std::string> describe(std::size_t count) const;

  // Where the program allocates now; null is the world. A simulation is one thread.
  [[nodiscard]] static ProcessHeap* current();
  // Makes `heap` current and returns the one before.
  static ProcessHeap* exchange_current(ProcessHeap* heap);

 private:
  friend struct HeapBlock;

  HeapBlock* first_ = nullptr;
  std::int64_t live_bytes_ = 0;
  std::int64_t live_blocks_ = 0;
};

// Allocates from another heap until the end of a block of code; null is the world.
class HeapScope {
 public:
  explicit HeapScope(ProcessHeap* heap) : before_(ProcessHeap::exchange_current(heap)) {}
  HeapScope(const HeapScope&) = delete;
  HeapScope& operator=(const HeapScope&) = delete;
  ~HeapScope() { ProcessHeap::exchange_current(before_); }

 private:
  ProcessHeap* before_;
};

}  // namespace booblik::sim
