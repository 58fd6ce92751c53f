#include "env/posix/timer_heap.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace booblik::env {
namespace {

class Recorder final : public Timer {
 public:
  Recorder(std::size_t id, std::vector<std::size_t>& fired) : id_(id), fired_(fired) {}
  void fire() override { fired_.push_back(id_); }

 private:
  std::size_t id_;
  std::vector<std::size_t>& fired_;
};

Deadline at(std::int64_t nanoseconds) {
  return Deadline(Instant(Duration(nanoseconds)));
}

// Against the simplest model: a sorted map of (deadline, order of arming).
TEST(TimerHeap, FiresWhatAnOrderedMapWould) {
  rc::check([] {
    constexpr std::size_t kTimers = 12;
    std::vector<std::size_t> fired;
    std::vector<std::unique_ptr<Recorder>> timers;
    for (std::size_t id = 0; id < kTimers; ++id) {
      timers.push_back(std::make_unique<Recorder>(id, fired));
    }
    TimerHeap heap;
    std::map<std::pair<std::int64_t, int>, std::size_t> model;
    int order = 0;
    const auto steps = *rc::gen::container<std::vector<std::pair<unsigned, unsigned>>>(
        rc::gen::pair(rc::gen::inRange(0U, 4U), rc::gen::inRange(0U, 40U)));
    for (const auto& [action, number] : steps) {
      const std::size_t id = number % kTimers;
      const auto entry =
          std::find_if(model.begin(), model.end(), [id = id](const auto& pair) { return pair.second == id; });
      RC_ASSERT(timers[id]->armed() == (entry != model.end()));
      if (action <= 1 && entry == model.end()) {
        heap.arm(*timers[id], at(number));
        model.emplace(std::pair(std::int64_t{number}, order++), id);
      } else if (action == 2) {
        heap.disarm(*timers[id]);
        if (entry != model.end()) {
          model.erase(entry);
        }
      } else if (action == 3) {
        fired.clear();
        heap.fire_due(Instant(Duration(number)));
        std::vector<std::size_t> expected;
        while (!model.empty() && model.begin()->first.first <= std::int64_t{number}) {
          expected.push_back(model.begin()->second);
          model.erase(model.begin());
        }
        RC_ASSERT(fired == expected);
      }
      RC_ASSERT(heap.size() == model.size());
      RC_ASSERT(heap.next_due() == (model.empty() ? Deadline::never() : at(model.begin()->first.first)));
    }
  });
}

TEST(TimerHeap, ATimerArmedWhileFiringWaitsForTheNextTime) {
  class Again final : public Timer {
   public:
    explicit Again(TimerHeap& heap) : heap_(heap) {}
    void fire() override {
      ++fired;
      heap_.arm(*this, at(0));
    }
    int fired = 0;

   private:
    TimerHeap& heap_;
  };
  TimerHeap heap;
  Again timer(heap);
  heap.arm(timer, at(0));
  heap.fire_due(Instant(Duration(1)));
  EXPECT_EQ(timer.fired, 1);
  heap.fire_due(Instant(Duration(1)));
  EXPECT_EQ(timer.fired, 2);
}

}  // namespace
}  // namespace booblik::env
