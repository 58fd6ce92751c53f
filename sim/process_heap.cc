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

std::vector<std::string> ProcessHeap::describe(std::size_t count) const {
  constexpr std::size_t kShown = 48;
  std::vector<std::string> lines;
  for (const HeapBlock* block = first_; block != nullptr && lines.size() < count; block = block->next) {
    std::string line = std::to_string(block->bytes) + " bytes: ";
    const auto* bytes = reinterpret_cast<const char*>(block + 1);
    for (std::size_t index = 0; index < std::min(kShown, block->bytes); ++index) {
      line += bytes[index] >= ' ' && bytes[index] <= '~' ? bytes[index] : '.';
    }
    lines.push_back(std::move(line));
  }
  return lines;
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

// Every form, also those that the standard library brings down to the first: AddressSanitizer has its own of
// each.
#define BOOBLIK_NEW(form)                                                                                   \
  void* operator form(std::size_t bytes) {                                                                  \
    return booblik::sim::allocate_or_throw(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);                        \
  }                                                                                                         \
  void* operator form(std::size_t bytes, const std::nothrow_t&) noexcept {                                  \
    return booblik::sim::HeapBlock::allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);                      \
  }                                                                                                         \
  void* operator form(std::size_t bytes, std::align_val_t alignment) {                                      \
    return booblik::sim::allocate_or_throw(bytes, std::max(static_cast<std::size_t>(alignment),             \
                                                           std::size_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__})); \
  }
#define BOOBLIK_DELETE(form)                                                 \
  void operator form(void* memory) noexcept {                                \
    booblik::sim::HeapBlock::free(memory);                                   \
  }                                                                          \
  void operator form(void* memory, std::size_t) noexcept {                   \
    booblik::sim::HeapBlock::free(memory);                                   \
  }                                                                          \
  void operator form(void* memory, const std::nothrow_t&) noexcept {         \
    booblik::sim::HeapBlock::free(memory);                                   \
  }                                                                          \
  void operator form(void* memory, std::align_val_t) noexcept {              \
    booblik::sim::HeapBlock::free(memory);                                   \
  }                                                                          \
  void operator form(void* memory, std::size_t, std::align_val_t) noexcept { \
    booblik::sim::HeapBlock::free(memory);                                   \
  }

BOOBLIK_NEW(new)
BOOBLIK_NEW(new[])
BOOBLIK_DELETE(delete)
BOOBLIK_DELETE(delete[])
