#include "sim/process_heap.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace booblik::sim {

namespace {
constinit ProcessHeap* current_heap = nullptr;
}  // namespace

// Lies directly below the bytes that the caller gets, and keeps them aligned.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) HeapBlock {
  HeapBlock* next;
  HeapBlock* previous;
  ProcessHeap* owner;
  std::uint32_t padding;  // bytes between what malloc gave and this header
  std::uint32_t unused;
  std::size_t bytes;

  static void* allocate(std::size_t bytes, std::size_t alignment);
  static void free(void* memory);
  static void free_list(HeapBlock* first);

 private:
  void link(ProcessHeap* heap);
  void unlink();
  [[nodiscard]] void* start() { return reinterpret_cast<std::byte*>(this) - padding; }
};

void* HeapBlock::allocate(std::size_t bytes, std::size_t alignment) {
  // The header is a multiple of the default alignment; a stricter one is reached by padding in front of it.
  const std::size_t front = (sizeof(HeapBlock) + alignment - 1) / alignment * alignment;
  const std::size_t whole = (front + bytes + alignment - 1) / alignment * alignment;
  void* memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? std::malloc(front + bytes)
                                                               : std::aligned_alloc(alignment, whole);
  if (memory == nullptr) {
    return nullptr;
  }
  auto* user = static_cast<std::byte*>(memory) + front;
  auto* block = ::new (user - sizeof(HeapBlock)) HeapBlock;
  block->padding = static_cast<std::uint32_t>(front - sizeof(HeapBlock));
  block->bytes = bytes;
  block->link(current_heap);
  return user;
}

void HeapBlock::free(void* memory) {
  if (memory == nullptr) {
    return;
  }
  auto* block = reinterpret_cast<HeapBlock*>(static_cast<std::byte*>(memory) - sizeof(HeapBlock));
  block->unlink();
  std::free(block->start());
}

void HeapBlock::free_list(HeapBlock* first) {
  while (first != nullptr) {
    HeapBlock* next = first->next;
    std::free(first->start());
    first = next;
  }
}

void HeapBlock::link(ProcessHeap* heap) {
  owner = heap;
  if (heap == nullptr) {
    return;
  }
  previous = nullptr;
  next = heap->first_;
  if (next != nullptr) {
    next->previous = this;
  }
  heap->first_ = this;
  heap->live_bytes_ += static_cast<std::int64_t>(bytes);
  ++heap->live_blocks_;
}

void HeapBlock::unlink() {
  if (owner == nullptr) {
    return;
  }
  (previous != nullptr ? previous->next : owner->first_) = next;
  if (next != nullptr) {
    next->previous = previous;
  }
  owner->live_bytes_ -= static_cast<std::int64_t>(bytes);
  --owner->live_blocks_;
}

void ProcessHeap::free_all() {
  HeapBlock::free_list(first_);
  first_ = nullptr;
  live_bytes_ = 0;
  live_blocks_ = 0;
}

ProcessHeap* ProcessHeap::current() {
  return current_heap;
}

ProcessHeap* ProcessHeap::exchange_current(ProcessHeap* heap) {
  ProcessHeap* before = current_heap;
  current_heap = heap;
  return before;
}

namespace {

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = HeapBlock::allocate(bytes, alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace
}  // namespace booblik::sim

// The array, nothrow and sized forms of the standard library come down to these.
void* operator new(std::size_t bytes) {
  return booblik::sim::allocate_or_throw(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return booblik::sim::allocate_or_throw(
      bytes, std::max(static_cast<std::size_t>(alignment), std::size_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__}));
}

void operator delete(void* memory) noexcept {
  booblik::sim::HeapBlock::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  booblik::sim::HeapBlock::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  booblik::sim::HeapBlock::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  booblik::sim::HeapBlock::free(memory);
}
