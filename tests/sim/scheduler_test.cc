#include "sim/scheduler.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "test_world.h"

namespace booblik::sim {
namespace {

// The order in which three fibers run that are ready at once.
std::string order_of(Policy policy, std::uint64_t seed) {
  TestWorld test({}, {}, seed, policy);
  std::string order;
  for (const char name : {'a', 'b', 'c'}) {
    test.world().spawn(std::string(1, name), [&order, name] { order += name; });
  }
  test.run_on();
  return order;
}

TEST(SimSchedulerTest, PoliciesChooseAsTheySay) {
  EXPECT_EQ(order_of(Policy::fifo, 1), "abc");
  EXPECT_EQ(order_of(Policy::lifo, 1), "cba");
  for (const Policy policy : {Policy::uniform, Policy::priorities}) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      seen.insert(order_of(policy, seed));
      EXPECT_EQ(order_of(policy, seed), order_of(policy, seed));
    }
    EXPECT_EQ(seen.size(), 6U) << "every order happens";
  }
}

TEST(SimSchedulerTest, TimeJumpsToTheNextTimer) {
  TestWorld test;
  Instant woken;
  test.world().spawn("sleeper", [&] {
    test.world().scheduler().sleep(std::chrono::minutes(30), "sleep");
    woken = test.world().now();
  });
  test.run_on();
  EXPECT_EQ(woken, Instant(std::chrono::minutes(30)));
}

TEST(SimSchedulerTest, NobodyStarvesUnderLifo) {
  TestWorld test({}, {}, 1, Policy::lifo);
  SimScheduler& scheduler = test.world().scheduler();
  bool done = false;
  // Two fibers that wake each other for ever, and one that was ready before them.
  env::FiberId first;
  env::FiberId second;
  test.world().spawn("patient", [&] { done = true; });
  first = test.world().spawn("first", [&] {
    while (!done) {
      scheduler.unpark(second);
      scheduler.park(Deadline::never());
    }
    scheduler.unpark(second);
  });
  second = test.world().spawn("second", [&] {
    while (!done) {
      scheduler.unpark(first);
      scheduler.park(Deadline::never());
    }
    scheduler.unpark(first);
  });
  test.run_on();
  EXPECT_TRUE(done);
}

TEST(SimSchedulerTest, ADeadlockNamesWhatEachFiberWaitsFor) {
  TestWorld test;
  test.run([](env::Environment& environment) {
    auto listener = environment.network.listen("127.0.0.1", 9092);
    static_cast<void>((*listener)->accept(Deadline::never()));
  });
  const auto lines = test.world().describe();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("process: accept on 127.0.0.1:9092"), std::string::npos) << lines[0];
}

TEST(SimSchedulerTest, APermitSurvivesAnEnvironmentCall) {
  TestWorld test;
  test.run([](env::Environment& environment) {
    const env::FiberId self = environment.scheduler.current();
    environment.scheduler.spawn("waker", [&] { environment.scheduler.unpark(self); });
    auto file =
        environment.disk.open("/file", env::OpenMode::create_new);  // parks on the environment's behalf
    EXPECT_TRUE(file);
    EXPECT_EQ(environment.scheduler.park(Deadline::never()), env::Wake::unparked);
  });
}

TEST(SimSchedulerTest, TheLimitOfTurnsEndsALivelock) {
  TestWorld test;
  test.world().spawn("spins", [&] {
    while (true) {
      test.world().scheduler().yield();
    }
  });
  EXPECT_EQ(test.world().run(Instant(std::chrono::hours(1)), 1000), SimScheduler::Stop::steps);
}

TEST(SimClockTest, TheWallClockDriftsAndJumps) {
  env::StackPool stacks{env::StackPool::Options{}};
  Fingerprint fingerprint;
  Trace trace(nullptr, fingerprint);
  SimScheduler scheduler(stacks, {}, 1, fingerprint, trace);
  const SimClock steady(scheduler, {.drift_per_million = 100}, 1);
  const SimClock jumping(scheduler,
                         {.jump_every = std::chrono::seconds(10), .jump_milliseconds_max = 3'600'000}, 1);
  const WallTime before = jumping.wall();
  scheduler.run(Instant(std::chrono::seconds(100)), 10);
  scheduler.at(Instant(std::chrono::seconds(1000)), [] {});
  scheduler.run(Instant(std::chrono::seconds(1000)), 10);
  EXPECT_EQ(steady.wall().milliseconds() - ClockOptions{}.wall_start_milliseconds, 1'000'000 + 100);
  EXPECT_GT(std::abs(jumping.wall().milliseconds() - before.milliseconds() - 1'000'000), 1'000);
}

}  // namespace
}  // namespace booblik::sim
