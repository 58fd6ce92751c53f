#include "env/fiber/stack_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "env/fiber/sanitizer.h"

namespace booblik::env {

std::size_t default_stack_bytes() {
  constexpr std::size_t kKibibyte = 1024;
#if BOOBLIK_ASAN || BOOBLIK_TSAN || !defined(__OPTIMIZE__)
  return 512 * kKibibyte;
#else
  return 64 * kKibibyte;
#endif
}

StackPool::StackPool(Options options)
    : page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      stack_bytes_((options.stack_bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_),
      idle_stacks_max_(options.idle_stacks_max) {
  BOOBLIK_CHECK(stack_bytes_ > 0, "a stack has at least one page");
  // Now, so that release never allocates: it may run for whoever's fiber has ended.
  idle_.reserve(idle_stacks_max_);
}

StackPool::~StackPool() {
  BOOBLIK_CHECK(live_ == 0, "every fiber has ended before its stack pool goes");
  for (const Stack& stack : idle_) {
    ::munmap(stack.lowest - page_bytes_, page_bytes_ + stack.size);
  }
}

Stack StackPool::acquire() {
  ++live_;
  if (!idle_.empty()) {
    const Stack stack = idle_.back();
    idle_.pop_back();
    return stack;
  }
  const std::size_t mapped_bytes = page_bytes_ + stack_bytes_;
  void* mapped = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  BOOBLIK_CHECK(mapped != MAP_FAILED, "the system has memory for a fiber stack");
  BOOBLIK_CHECK(::mprotect(mapped, page_bytes_, PROT_NONE) == 0, "a stack can get its guard page");
  return Stack{static_cast<std::byte*>(mapped) + page_bytes_, stack_bytes_};
}

void StackPool::release(Stack stack) {
  BOOBLIK_CHECK(live_ > 0, "a stack is released once");
  --live_;
  // Frames that were never returned from leave their red zones marked.
  unpoison_stack(stack.lowest, stack.size);
  if (idle_.size() < idle_stacks_max_) {
    idle_.push_back(stack);
  } else {
    ::munmap(stack.lowest - page_bytes_, page_bytes_ + stack.size);
  }
}

}  // namespace booblik::env
