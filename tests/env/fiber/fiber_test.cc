#include "env/fiber/fiber.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace booblik::env {
namespace {

class FiberTest : public ::testing::Test {
 protected:
  StackPool stacks_{StackPool::Options{}};
};

// Uses about `bytes` of the stack that it runs on. Each frame writes to the one above, so that no optimiser
// can fold the frames into one.
[[gnu::noinline]] std::size_t use_stack(std::size_t bytes, volatile char* above = nullptr) {
  volatile char frame[256];
  frame[0] = 1;
  if (above != nullptr) {
    above[0] = 2;
  }
  if (bytes <= sizeof frame) {
    return 1;
  }
  const std::size_t below = use_stack(bytes - sizeof frame, frame);
  return below + (frame[0] == 2 ? 1U : 0U);
}

class CountsDestruction {
 public:
  explicit CountsDestruction(int& destroyed) : destroyed_(&destroyed) {}
  CountsDestruction(CountsDestruction&& other) noexcept
      : destroyed_(std::exchange(other.destroyed_, nullptr)) {}
  CountsDestruction& operator=(CountsDestruction&&) = delete;
  ~CountsDestruction() {
    if (destroyed_ != nullptr) {
      ++*destroyed_;
    }
  }

 private:
  int* destroyed_;
};

TEST_F(FiberTest, RunsInTurnsWithItsResumer) {
  std::string trace;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>(stacks_, [&] {
    trace += "b";
    fiber->suspend();
    trace += "d";
  });
  EXPECT_EQ(trace, "");
  trace += "a";
  fiber->resume();
  EXPECT_FALSE(fiber->ended());
  trace += "c";
  fiber->resume();
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(trace, "abcd");
}

TEST_F(FiberTest, GivesItsStackBackWhenItEndsAndThePoolReusesIt) {
  for (int round = 0; round < 1000; ++round) {
    Fiber fiber(stacks_, [] { use_stack(8 * 1024); });
    EXPECT_EQ(stacks_.live(), 1U);
    fiber.resume();
    EXPECT_EQ(stacks_.live(), 0U);
  }
  EXPECT_EQ(stacks_.idle(), 1U);
}

TEST_F(FiberTest, ManyFibersInterleave) {
  constexpr int kFibers = 300;
  constexpr int kTurns = 20;
  std::vector<std::unique_ptr<Fiber>> fibers(kFibers);
  std::int64_t sum = 0;
  for (int index = 0; index < kFibers; ++index) {
    fibers[static_cast<std::size_t>(index)] = std::make_unique<Fiber>(stacks_, [&, index] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const std::string on_this_stack = std::to_string(index);
        fibers[static_cast<std::size_t>(index)]->suspend();
        sum += std::stoi(on_this_stack);
      }
    });
  }
  for (int turn = 0; turn <= kTurns; ++turn) {
    for (auto& fiber : fibers) {
      fiber->resume();
    }
  }
  EXPECT_EQ(sum, std::int64_t{kTurns} * kFibers * (kFibers - 1) / 2);
  EXPECT_EQ(stacks_.live(), 0U);
  EXPECT_EQ(stacks_.idle(), StackPool::Options{}.idle_stacks_max) << "the idle pool is bounded";
}

TEST_F(FiberTest, OneFiberResumesAnother) {
  std::string trace;
  std::unique_ptr<Fiber> inner;
  inner = std::make_unique<Fiber>(stacks_, [&] {
    trace += "2";
    inner->suspend();
    trace += "4";
  });
  Fiber outer(stacks_, [&] {
    trace += "1";
    inner->resume();
    trace += "3";
  });
  outer.resume();
  inner->resume();  // from another stack than before
  EXPECT_EQ(trace, "1234");
}

TEST_F(FiberTest, ExceptionsStayOnTheirStack) {
  std::unique_ptr<Fiber> fiber;
  std::string caught;
  fiber = std::make_unique<Fiber>(stacks_, [&] {
    try {
      fiber->suspend();
      throw std::runtime_error("from the body");
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  });
  fiber->resume();
  fiber->resume();
  EXPECT_EQ(caught, "from the body");
}

TEST_F(FiberTest, UnwindRunsDestructorsAndNothingElse) {
  int destroyed = 0;
  bool went_on = false;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>(stacks_, [&, captured = CountsDestruction(destroyed)] {
    const CountsDestruction local(destroyed);
    fiber->suspend();
    went_on = true;
  });
  fiber->resume();
  fiber->unwind();
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(destroyed, 2);
  EXPECT_FALSE(went_on);
  EXPECT_EQ(stacks_.live(), 0U);
}

TEST_F(FiberTest, DestructionUnwindsASuspendedBodyAndDropsAnUnstartedOne) {
  int destroyed = 0;
  bool ran = false;
  {
    Fiber unstarted(stacks_, [&, captured = CountsDestruction(destroyed)] { ran = true; });
    std::unique_ptr<Fiber> suspended;
    suspended = std::make_unique<Fiber>(stacks_, [&] {
      const CountsDestruction local(destroyed);
      suspended->suspend();
    });
    suspended->resume();
  }
  EXPECT_EQ(destroyed, 2);
  EXPECT_FALSE(ran);
  EXPECT_EQ(stacks_.live(), 0U);
}

TEST_F(FiberTest, AnAbandonedBodyRunsNoDestructorAndGivesItsStackBack) {
  int destroyed = 0;
  bool went_on = false;
  for (int round = 0; round < 10; ++round) {
    std::unique_ptr<Fiber> fiber;
    fiber = std::make_unique<Fiber>(stacks_, [&] {
      const CountsDestruction local(destroyed);
      fiber->suspend();
      went_on = true;
    });
    fiber->resume();
    fiber->abandon();
    EXPECT_TRUE(fiber->ended());
    EXPECT_EQ(stacks_.live(), 0U);
  }
  Fiber unstarted(stacks_, [&] { went_on = true; });
  unstarted.abandon();
  EXPECT_EQ(destroyed, 0);
  EXPECT_FALSE(went_on);
  Fiber next(stacks_, [] { use_stack(16 * 1024); });
  next.resume();
  EXPECT_EQ(stacks_.idle(), 1U) << "the stack of an abandoned body is as good as any";
}

TEST_F(FiberTest, TheWholeStackIsUsable) {
  StackPool small(StackPool::Options{.stack_bytes = 256 * 1024, .idle_stacks_max = 1});
  std::size_t frames = 0;
  Fiber fiber(small, [&] { frames = use_stack(32 * 1024); });
  fiber.resume();
  EXPECT_EQ(frames, 32U * 1024 / 256);
}

using FiberDeathTest = FiberTest;

TEST_F(FiberDeathTest, AnOverflowHitsTheGuardPage) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  // The stack mapped before lies right below on Linux: without a guard page the overflow would go unnoticed.
  EXPECT_DEATH(
      {
        const Stack above = stacks_.acquire();
        const Stack below = stacks_.acquire();
        static_cast<void>(above);
        static_cast<void>(below);
        Fiber fiber(stacks_, [] { use_stack(StackPool::Options{}.stack_bytes * 2); });
        fiber.resume();
      },
      "");
}

TEST_F(FiberDeathTest, AnExceptionThatLeavesTheBodyEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        Fiber fiber(stacks_, [] { throw std::runtime_error("nobody catches this"); });
        fiber.resume();
      },
      "nobody catches this");
}

}  // namespace
}  // namespace booblik::env
