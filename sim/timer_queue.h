// What is due when: fibers whose wait has a deadline, and actions of the environment. Timers at the same
// instant fire in the order in which they were set.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/time.h"

namespace booblik::sim {

class TimerQueue {
 public:
  struct Timer {
    Instant when;
    std::uint64_t order = 0;
    // Of a fiber's deadline: its slot, and the wait that the timer ends.
    std::size_t slot = 0;
    std::uint64_t wait = 0;
    bool is_action = false;
    std::size_t action = 0;
  };

  void add_wait(Instant when, std::size_t slot, std::uint64_t wait);
  void add_action(Instant when, std::move_only_function<void()> action);

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  // Of a queue that is not empty.
  [[nodiscard]] const Timer& next() const { return heap_.front(); }
  Timer pop();
  // The action of a popped timer; once.
  [[nodiscard]] std::move_only_function<void()> take_action(const Timer& timer);

  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  // Drops the waits for which `stale(timer)` holds.
  void drop_stale(const std::function<bool(const Timer&)>& stale);

 private:
  void push(Timer timer);

  std::vector<Timer> heap_;
  std::vector<std::move_only_function<void()>> actions_;
  std::vector<std::size_t> free_actions_;
  std::uint64_t orders_ = 0;
};

}  // namespace booblik::sim
