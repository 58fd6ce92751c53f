#include <algorithm>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "env/sync.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;

TEST_P(SchedulerContract, SpawnedFibersRunWhenTheirMakerParks) {
  run([](Environment& env) {
    std::string trace;
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("child", [&] {
      trace += "child ";
      group.done();
    });
    trace += "main ";
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_EQ(trace, "main child ");
  });
}

TEST_P(SchedulerContract, AnUnparkBeforeTheParkIsNotLost) {
  run([](Environment& env) {
    env.scheduler.unpark(env.scheduler.current());
    EXPECT_EQ(env.scheduler.park(soon(env)), Wake::unparked);
  });
}

TEST_P(SchedulerContract, PermitsDoNotAddUp) {
  run([](Environment& env) {
    const FiberId self = env.scheduler.current();
    env.scheduler.unpark(self);
    env.scheduler.unpark(self);
    EXPECT_EQ(env.scheduler.park(soon(env)), Wake::unparked);
    EXPECT_EQ(env.scheduler.park(after(env, milliseconds(2))), Wake::deadline);
  });
}

TEST_P(SchedulerContract, APermitIsTakenEvenWhenTheDeadlineHasPassed) {
  run([](Environment& env) {
    env.scheduler.unpark(env.scheduler.current());
    EXPECT_EQ(env.scheduler.park(Deadline::immediately()), Wake::unparked);
    EXPECT_EQ(env.scheduler.park(Deadline::immediately()), Wake::deadline);
  });
}

TEST_P(SchedulerContract, AParkEndsAtItsDeadlineAndNotBefore) {
  run([](Environment& env) {
    const Deadline deadline = after(env, milliseconds(10));
    EXPECT_EQ(env.scheduler.park(deadline), Wake::deadline);
    EXPECT_TRUE(deadline.passed(env.clock.now()));
  });
}

TEST_P(SchedulerContract, DeadlinesPassInTheirOrder) {
  run([](Environment& env) {
    const Instant start = env.clock.now();
    std::vector<int> woken;
    WaitGroup group(env.scheduler);
    for (const int wait : {9, 3, 12, 6, 3, 0}) {
      group.add();
      env.scheduler.spawn("sleeper", [&env, &woken, &group, start, wait] {
        EXPECT_EQ(env.scheduler.park(Deadline(start + milliseconds(wait))), Wake::deadline);
        woken.push_back(wait);
        group.done();
      });
    }
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_EQ(woken, (std::vector<int>{0, 3, 3, 6, 9, 12}));
  });
}

TEST_P(SchedulerContract, AnUnparkedFiberIsNotWokenAgainByItsOldDeadline) {
  run([](Environment& env) {
    WaitGroup group(env.scheduler);
    group.add();
    const FiberId sleeper = env.scheduler.spawn("sleeper", [&] {
      EXPECT_EQ(env.scheduler.park(after(env, milliseconds(3))), Wake::unparked);
      EXPECT_EQ(env.scheduler.park(after(env, milliseconds(20))), Wake::deadline);
      group.done();
    });
    env.scheduler.yield();
    env.scheduler.unpark(sleeper);
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(SchedulerContract, YieldLetsEveryReadyFiberRunOnce) {
  run([](Environment& env) {
    constexpr int kFibers = 5;
    std::vector<int> turns(kFibers, 0);
    WaitGroup group(env.scheduler);
    bool stop = false;
    for (std::size_t index = 0; index < kFibers; ++index) {
      group.add();
      env.scheduler.spawn("spinner", [&, index] {
        while (!stop) {
          ++turns[index];
          env.scheduler.yield();
        }
        group.done();
      });
    }
    for (int round = 1; round <= 100; ++round) {
      env.scheduler.yield();
      for (const int count : turns) {
        EXPECT_GE(count, round);
      }
    }
    stop = true;
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(SchedulerContract, ReadyFibersDoNotStarveDeadlines) {
  run([](Environment& env) {
    bool stop = false;
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("spinner", [&] {
      while (!stop) {
        env.scheduler.yield();
      }
      group.done();
    });
    EXPECT_EQ(env.scheduler.park(after(env, milliseconds(5))), Wake::deadline);
    stop = true;
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(SchedulerContract, UnparkingAFiberThatHasEndedDoesNothing) {
  run([](Environment& env) {
    const FiberId ended = env.scheduler.spawn("short", [] {});
    env.scheduler.yield();
    bool ran = false;
    // It may get the memory of the one that has ended; its name it must not get.
    const FiberId next = env.scheduler.spawn("next", [&] {
      EXPECT_EQ(env.scheduler.park(after(env, milliseconds(3))), Wake::deadline);
      ran = true;
    });
    EXPECT_NE(ended, next);
    env.scheduler.yield();
    env.scheduler.unpark(ended);
    env.scheduler.unpark(FiberId{});
    while (!ran) {
      env.scheduler.park(after(env, milliseconds(1)));
    }
  });
}

TEST_P(SchedulerContract, FibersSeeTheirOwnIds) {
  run([](Environment& env) {
    std::vector<FiberId> seen;
    std::vector<FiberId> given;
    for (int index = 0; index < 3; ++index) {
      given.push_back(env.scheduler.spawn("fiber", [&] { seen.push_back(env.scheduler.current()); }));
    }
    env.scheduler.yield();
    // Which of several ready fibers is first is not promised.
    std::ranges::sort(seen);
    std::ranges::sort(given);
    EXPECT_EQ(seen, given);
  });
}

TEST_P(SchedulerContract, AnEventWakesAllWhoWaitOnce) {
  run([](Environment& env) {
    Event event(env.scheduler);
    WaitGroup group(env.scheduler);
    bool happened = false;
    for (int index = 0; index < 3; ++index) {
      group.add();
      env.scheduler.spawn("waiter", [&] {
        while (!happened) {
          EXPECT_EQ(event.wait(soon(env)), Wake::unparked);
        }
        group.done();
      });
    }
    env.scheduler.yield();
    EXPECT_TRUE(event.has_waiters());
    happened = true;
    event.notify_all();
    EXPECT_FALSE(event.has_waiters());
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_EQ(event.wait(after(env, milliseconds(2))), Wake::deadline) << "an event remembers nothing";
  });
}

}  // namespace
}  // namespace booblik::env
