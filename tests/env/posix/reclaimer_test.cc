// Giving space back without being felt.
#include "env/posix/reclaimer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "env/sync.h"
#include "posix/posix_world.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMiB = 1024 * 1024;

TEST(ReclaimPause, SpreadsTheStepsOverTheTime) {
  EXPECT_EQ(Reclaimer::pause_after(milliseconds(1), 400, seconds(10), 1), milliseconds(25));
}

TEST(ReclaimPause, IsShortForAFewSteps) {
  EXPECT_EQ(Reclaimer::pause_after(milliseconds(1), 2, seconds(10), 1), Reclaimer::kPauseMax);
  EXPECT_EQ(Reclaimer::pause_after(milliseconds(1), 0, seconds(10), 1), Reclaimer::kPauseMax);
}

TEST(ReclaimPause, LeavesASlowDiskToOthersMostOfTheTime) {
  EXPECT_EQ(Reclaimer::pause_after(milliseconds(50), 400, seconds(10), 1), milliseconds(150));
  EXPECT_EQ(Reclaimer::pause_after(milliseconds(2), 1'000'000, seconds(10), 1), milliseconds(6));
}

TEST(ReclaimPause, IsNoneWhenManyFilesHoldDescriptors) {
  constexpr std::size_t kMax = Reclaimer::kUnhurriedFilesMax;
  EXPECT_EQ(Reclaimer::pause_after(milliseconds(50), 400, seconds(10), kMax), milliseconds(150));
  EXPECT_EQ(Reclaimer::pause_after(milliseconds(50), 400, seconds(10), kMax + 1), Duration::zero());
}

class ReclaimTest : public ::testing::Test {
 protected:
  std::unique_ptr<File> removed_file(Environment& env, const std::string& name, std::int64_t size) {
    const std::string path = world_.directory() + "/" + name;
    auto file = env.disk.open(path, OpenMode::create_new);
    EXPECT_TRUE(file) << file.error().message;
    EXPECT_TRUE((*file)->truncate(size));
    EXPECT_TRUE(env.disk.remove(path));
    cuts_before_ = system_.count(Call::ftruncate);
    return std::move(*file);
  }

  void wait_until_closed(Environment& env) {
    DescriptorBudget& budget = world_.environment().descriptors();
    const Deadline soon(env.clock.now() + seconds(20));
    while (budget.storage_open() > 0) {
      ASSERT_EQ(budget.freed().wait(soon), Wake::unparked);
    }
  }

  [[nodiscard]] std::int64_t cuts() const { return system_.count(Call::ftruncate) - cuts_before_; }

  PosixWorld world_{{.reclaim_spread = Duration::zero()}};
  FaultySystemCalls& system_ = world_.system();
  std::int64_t cuts_before_ = 0;
};

TEST_F(ReclaimTest, CutsALargeFileInSteps) {
  world_.run([&](Environment& env) {
    env.disk.reclaim(removed_file(env, "large", 100 * kMiB));
    wait_until_closed(env);
    EXPECT_EQ(cuts(), 24) << "100 MiB in steps of 4 MiB; closing is the last";
  });
}

TEST_F(ReclaimTest, CutsFilesThatComeMeanwhileToo) {
  world_.run([&](Environment& env) {
    auto first = removed_file(env, "first", 20 * kMiB);
    auto second = removed_file(env, "second", 17 * kMiB);
    env.disk.reclaim(std::move(first));
    env.disk.reclaim(std::move(second));
    wait_until_closed(env);
    EXPECT_EQ(cuts(), 8);
    env.disk.reclaim(removed_file(env, "third", 9 * kMiB));
    wait_until_closed(env);
    EXPECT_EQ(cuts(), 2) << "after a rest it starts again";
  });
}

TEST_F(ReclaimTest, OtherBackgroundWorkRunsBetweenTheSteps) {
  world_.run([&](Environment& env) {
    env.disk.reclaim(removed_file(env, "large", 400 * kMiB));
    for (int job = 0; job < 5; ++job) {
      world_.environment().workers().run(WorkerPool::Kind::background, [] {});
    }
    EXPECT_LT(cuts(), 50) << "none of the jobs has waited for all 99 cuts";
    wait_until_closed(env);
    EXPECT_EQ(cuts(), 99);
  });
}

TEST_F(ReclaimTest, DoesNotCutAFileThatStillHasAName) {
  world_.run([&](Environment& env) {
    const std::string path = world_.directory() + "/named";
    auto file = env.disk.open(path, OpenMode::create_new);
    ASSERT_TRUE(file);
    EXPECT_TRUE((*file)->truncate(40 * kMiB));
    env.disk.reclaim(std::move(*file));
    wait_until_closed(env);
    const auto again = env.disk.open(path, OpenMode::read_only);
    ASSERT_TRUE(again);
    EXPECT_EQ((*again)->size(), 40 * kMiB);
  });
}

TEST_F(ReclaimTest, AFileThatCannotBeCutIsClosedAndTheNextOneIsCut) {
  world_.run([&](Environment& env) {
    auto first = removed_file(env, "first", 100 * kMiB);
    auto second = removed_file(env, "second", 20 * kMiB);
    system_.inject({.call = Call::ftruncate, .result = -EIO, .times = 1});
    env.disk.reclaim(std::move(first));
    env.disk.reclaim(std::move(second));
    wait_until_closed(env);
    EXPECT_EQ(cuts(), 1 + 4);
  });
}

TEST_F(ReclaimTest, EndsWithTheEnvironmentWhileItPauses) {
  PosixWorld world({.reclaim_spread = std::chrono::hours(10)});
  world.run([&](Environment& env) {
    const std::string path = world.directory() + "/large";
    auto file = env.disk.open(path, OpenMode::create_new);
    ASSERT_TRUE(file);
    EXPECT_TRUE((*file)->truncate(100 * kMiB));
    EXPECT_TRUE(env.disk.remove(path));
    env.disk.reclaim(std::move(*file));
    world.environment().workers().run(WorkerPool::Kind::background, [] {});
    EXPECT_EQ(world.environment().descriptors().storage_open(), 1);
  });
}

}  // namespace
}  // namespace booblik::env
