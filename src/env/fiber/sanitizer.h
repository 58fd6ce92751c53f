// Tells AddressSanitizer and ThreadSanitizer which stack is running; without them every call here is empty.
// Both would otherwise take a switch of stacks for memory corruption or for a race.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define BOOBLIK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BOOBLIK_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define BOOBLIK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BOOBLIK_TSAN 1
#endif
#endif
#ifndef BOOBLIK_ASAN
#define BOOBLIK_ASAN 0
#endif
#ifndef BOOBLIK_TSAN
#define BOOBLIK_TSAN 0
#endif

#if BOOBLIK_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if BOOBLIK_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace booblik::env {

// What the sanitizers know of one stack.
struct StackIdentity {
  const void* lowest = nullptr;
  std::size_t size = 0;
  void* fake_stack = nullptr;  // ASan's, while this stack is not running
  void* tsan_fiber = nullptr;
};

// The switching calls are always inlined: ThreadSanitizer keeps a call stack per fiber, and a function that
// is entered on one and left on the other would corrupt both.
#define BOOBLIK_SWITCHES [[gnu::always_inline]] inline

// `identity` is a stack that has not run yet.
inline void create_identity([[maybe_unused]] StackIdentity& identity) {
#if BOOBLIK_TSAN
  identity.tsan_fiber = __tsan_create_fiber(0);
#endif
}

// `identity` is a stack that is not running and will not run again.
inline void destroy_identity([[maybe_unused]] StackIdentity& identity) {
#if BOOBLIK_ASAN
  // Only the running stack can drop its fake stack, and the last frames of a body still need it: so pretend
  // to go there once more.
  StackIdentity here;
  __sanitizer_start_switch_fiber(&here.fake_stack, identity.lowest, identity.size);
  __sanitizer_finish_switch_fiber(identity.fake_stack, &here.lowest, &here.size);
  __sanitizer_start_switch_fiber(nullptr, here.lowest, here.size);
  __sanitizer_finish_switch_fiber(here.fake_stack, nullptr, nullptr);
#endif
#if BOOBLIK_TSAN
  __tsan_destroy_fiber(identity.tsan_fiber);
#endif
}

// Right before control goes from one stack to another.
BOOBLIK_SWITCHES void before_switch([[maybe_unused]] StackIdentity& from,
                                    [[maybe_unused]] const StackIdentity& to) {
#if BOOBLIK_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.lowest, to.size);
#endif
#if BOOBLIK_TSAN
  from.tsan_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}

// The first thing on the stack that control has come to; learns where `from` lies.
BOOBLIK_SWITCHES void after_switch([[maybe_unused]] StackIdentity& self,
                                   [[maybe_unused]] StackIdentity& from) {
#if BOOBLIK_ASAN
  __sanitizer_finish_switch_fiber(self.fake_stack, &from.lowest, &from.size);
#endif
}

// The same pair for a switch that is made by returning from the body: functions are still left on the old
// stack after the first, so ThreadSanitizer is told by the second.
BOOBLIK_SWITCHES void before_return([[maybe_unused]] StackIdentity& from,
                                    [[maybe_unused]] const StackIdentity& to) {
#if BOOBLIK_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.lowest, to.size);
#endif
}
BOOBLIK_SWITCHES void after_return([[maybe_unused]] const StackIdentity& to) {
#if BOOBLIK_TSAN
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}

#undef BOOBLIK_SWITCHES

inline void unpoison_stack([[maybe_unused]] const void* lowest, [[maybe_unused]] std::size_t size) {
#if BOOBLIK_ASAN
  __asan_unpoison_memory_region(lowest, size);
#endif
}

}  // namespace booblik::env
