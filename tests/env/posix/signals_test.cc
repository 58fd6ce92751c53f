#include "env/posix/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "posix/posix_world.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;

TEST(Signals, AFiberWaitsForThem) {
  PosixWorld world;
  world.run([&](Environment& env) {
    auto signals = Signals::create(world.system(), world.environment().reactor(), {SIGTERM, SIGINT});
    ASSERT_TRUE(signals);
    EXPECT_EQ((*signals)->wait(after(env, milliseconds(3))).error().code, ErrorCode::timed_out);
    ::kill(::getpid(), SIGTERM);
    EXPECT_EQ((*signals)->wait(soon(env)), SIGTERM);
    ::kill(::getpid(), SIGINT);
    EXPECT_EQ((*signals)->wait(soon(env)), SIGINT);
  });
}

TEST(Signals, ArriveWhileWorkersRun) {
  PosixWorld world;
  world.run([&](Environment& env) {
    // The worker is there before the signals are blocked; it must not take them.
    ASSERT_TRUE(env.disk.list(world.directory()));
    auto signals = Signals::create(world.system(), world.environment().reactor(), {SIGTERM});
    ASSERT_TRUE(signals);
    for (int round = 0; round < 20; ++round) {
      ::kill(::getpid(), SIGTERM);
      EXPECT_EQ((*signals)->wait(soon(env)), SIGTERM);
    }
  });
}

TEST(Signals, StopEndsAWait) {
  PosixWorld world;
  world.run([&](Environment& env) {
    auto signals = Signals::create(world.system(), world.environment().reactor(), {SIGTERM});
    ASSERT_TRUE(signals);
    env.scheduler.spawn("stopper", [&] { (*signals)->stop(); });
    EXPECT_EQ((*signals)->wait(soon(env)).error().code, ErrorCode::closed);
  });
}

}  // namespace
}  // namespace booblik::env
