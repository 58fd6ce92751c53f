// Each fault of the disk, set exactly.
#include <gtest/gtest.h>

#include <string>

#include "env/sync.h"
#include "test_world.h"

namespace booblik::sim {
namespace {

using Kind = ScriptedFault::Kind;

// Writes "old" durably into /file, then "new" with a sync that fails, and returns what that file says later.
TestWorld after_failed_sync(SyncFailure failure) {
  return TestWorld(
      {.script = {{.operation = 6, .kind = Kind::error, .sync_failure = failure}}, .evict_odds = 0});
}

void fail_a_sync(env::Environment& environment) {
  auto file = environment.disk.open("/file", env::OpenMode::create_new);
  EXPECT_TRUE(write_text(**file, 0, "old"));
  EXPECT_TRUE((*file)->sync_data());
  EXPECT_TRUE(environment.disk.sync_directory("/"));
  EXPECT_TRUE(write_text(**file, 0, "new"));
  const auto synced = (*file)->sync_data();
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().code, ErrorCode::io);
  EXPECT_TRUE((*file)->poisoned());
}

void sync_again(env::Environment& environment) {
  auto file = environment.disk.open("/file", env::OpenMode::read_write);
  EXPECT_TRUE((*file)->sync_data());
}

std::string after_power_loss(TestWorld& test) {
  env::Random random(1);
  test.machine().disk.files().lose_power(random, PowerLoss::drop_all);
  return test.contents("/file");
}

TEST(DiskFaultsTest, ASyncThatDropsPagesLeavesThemReadable) {
  TestWorld test = after_failed_sync(SyncFailure::dropped);
  test.run(fail_a_sync);
  EXPECT_EQ(test.contents("/file"), "new");
  test.run(sync_again);
  EXPECT_EQ(after_power_loss(test), "old") << "a second sync that succeeds proves nothing";
}

TEST(DiskFaultsTest, ASyncCanFailAndWorkLater) {
  TestWorld test = after_failed_sync(SyncFailure::stays_dirty);
  test.run(fail_a_sync);
  test.run(sync_again);
  EXPECT_EQ(after_power_loss(test), "new");
}

TEST(DiskFaultsTest, ASyncCanFailAlthoughEverythingIsDurable) {
  TestWorld test = after_failed_sync(SyncFailure::durable_anyway);
  test.run(fail_a_sync);
  EXPECT_EQ(after_power_loss(test), "new");
}

TEST(DiskFaultsTest, DroppedPagesLeaveTheCacheAfterAWhile) {
  TestWorld test({.script = {{.operation = 6, .kind = Kind::error, .sync_failure = SyncFailure::dropped}},
                  .evict_odds = 1});
  test.run(fail_a_sync);
  EXPECT_EQ(test.contents("/file"), "old");
}

// The first write, its sync and the sync that fails overlap; the other one says that all is well.
TEST(DiskFaultsTest, ASyncMaySucceedWithoutThePagesThatAnotherOneDrops) {
  bool lost = false;
  bool kept = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld test({.script = {{.operation = 4, .kind = Kind::error, .sync_failure = SyncFailure::dropped},
                               {.operation = 4, .kind = Kind::hang}},
                    .evict_odds = 0},
                   {}, seed);
    test.run([](env::Environment& environment) {
      auto file = environment.disk.open("/file", env::OpenMode::create_new);
      EXPECT_TRUE(write_text(**file, 0, "new"));
      env::WaitGroup others(environment.scheduler);
      others.add();
      auto second = environment.disk.open("/file", env::OpenMode::read_write);
      environment.scheduler.spawn("other", [&] {
        EXPECT_FALSE((*second)->sync_data());
        others.done();
      });
      environment.scheduler.park(Deadline(environment.clock.now() + std::chrono::milliseconds(1)));
      EXPECT_TRUE((*file)->sync_data());
      EXPECT_TRUE(environment.disk.sync_directory("/"));
      static_cast<void>(others.wait(Deadline::never()));
    });
    (after_power_loss(test) == "new" ? kept : lost) = true;
  }
  EXPECT_TRUE(lost);
  EXPECT_TRUE(kept);
}

// Two syncs of one file go on at once. One fails and takes the pages of both, and the other says that all is
// well; it does so long before.
TEST(DiskFaultsTest, ASyncBesideAnotherMayTakeItsPages) {
  TestWorld test({.sync_error_beside_odds = 1});
  test.run([](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    EXPECT_TRUE(write_text(**file, 0, "old"));
    EXPECT_TRUE((*file)->sync_data()) << "there is no other";
    EXPECT_TRUE(environment.disk.sync_directory("/"));
    EXPECT_TRUE(write_text(**file, 0, "new"));
    env::WaitGroup others(environment.scheduler);
    others.add();
    bool other_has_ended = false;
    auto second = environment.disk.open("/file", env::OpenMode::read_write);
    environment.scheduler.spawn("other", [&] {
      EXPECT_FALSE((*second)->sync_data());
      other_has_ended = true;
      others.done();
    });
    EXPECT_TRUE((*file)->sync_data());
    EXPECT_FALSE(other_has_ended);
    static_cast<void>(others.wait(Deadline::never()));
    EXPECT_TRUE((*file)->sync_data()) << "there is no other any more";
  });
  EXPECT_EQ(after_power_loss(test), "old");
}

TEST(DiskFaultsTest, TakingBackWhatFoundNoRoomMayFail) {
  TestWorld test({.script = {{.operation = 2, .kind = Kind::no_space}}, .clean_up_error_odds = 1});
  test.run([](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    EXPECT_FALSE(write_text(**file, 0, "new"));
    EXPECT_FALSE((*file)->truncate(0));
    EXPECT_TRUE((*file)->truncate(0)) << "once for each";
  });
}

TEST(DiskFaultsTest, TheSyncAfterATruncationMayFail) {
  TestWorld test({.sync_error_after_cut_odds = 1});
  test.run([](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    EXPECT_TRUE(write_text(**file, 0, "text"));
    EXPECT_TRUE((*file)->sync_data());
    EXPECT_TRUE((*file)->truncate(2));
    EXPECT_FALSE((*file)->sync_data());
    EXPECT_EQ(*(*file)->size(), 2);
  });
}

TEST(DiskFaultsTest, NoSpaceMayComeAfterAPartOfTheWrite) {
  bool part = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld test({.script = {{.operation = 2, .kind = Kind::no_space}}}, {}, seed);
    test.run([](env::Environment& environment) {
      auto file = environment.disk.open("/file", env::OpenMode::create_new);
      const auto written = write_text(**file, 0, "a longer text");
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().code, ErrorCode::no_space);
      EXPECT_FALSE((*file)->poisoned());
      EXPECT_TRUE((*file)->truncate(0));
      EXPECT_TRUE(write_text(**file, 0, "x"));
    });
    test.run([&part](env::Environment& environment) {
      auto file = environment.disk.open("/file", env::OpenMode::read_only);
      EXPECT_EQ((*file)->size().value_or(0), 1);
      part = true;
    });
  }
  EXPECT_TRUE(part);
}

TEST(DiskFaultsTest, OpenRunsOutOfHandles) {
  TestWorld test({.handles_max = 2});
  test.run([](env::Environment& environment) {
    auto first = environment.disk.open("/a", env::OpenMode::create_new);
    auto second = environment.disk.open("/b", env::OpenMode::create_new);
    auto third = environment.disk.open("/c", env::OpenMode::create_new);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::too_many_files);
    first = std::unexpected(Error{ErrorCode::io, ""});
    EXPECT_TRUE(environment.disk.open("/c", env::OpenMode::create_new));
  });
}

TEST(DiskFaultsTest, AReadFailsOnceInAWhile) {
  TestWorld test({.read_error_odds = 4});
  int failed = 0;
  test.run([&failed](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    std::byte byte;
    for (int round = 0; round < 400; ++round) {
      failed += (*file)->read_at(std::span(&byte, 1), Position(0)) ? 0 : 1;
    }
  });
  EXPECT_NEAR(failed, 100, 40);
}

TEST(DiskFaultsTest, AHungOperationTakesItsTime) {
  TestWorld test({.script = {{.operation = 2, .kind = Kind::hang}}, .hang = std::chrono::seconds(7)});
  Duration took{0};
  test.run([&took](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    const Instant began = environment.clock.now();
    EXPECT_TRUE((*file)->sync_data());
    took = environment.clock.now() - began;
  });
  EXPECT_GE(took, std::chrono::seconds(7));
}

TEST(DiskFaultsTest, ASplitWriteCanBeSeenHalfDone) {
  TestWorld test({.cached_read_odds = 1, .split_write_odds = 1});
  bool half = false;
  test.run([&half](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    bool done = false;
    const env::FiberId main = environment.scheduler.current();
    environment.scheduler.spawn("writer", [&] {
      EXPECT_TRUE(write_text(**file, 0, std::string(1000, 'x')));
      done = true;
      environment.scheduler.unpark(main);
    });
    while (!done) {
      const std::int64_t size = (*file)->size().value_or(0);
      half = half || (size > 0 && size < 1000);
      environment.scheduler.yield();
    }
  });
  EXPECT_TRUE(half);
}

// Every operation of a short workload is where the power goes: the loops of the simulator build on this.
TEST(DiskFaultsTest, ThePowerCanGoAtEveryOperation) {
  std::uint64_t operation = 1;
  for (bool reached = true; reached; ++operation) {
    TestWorld test({.power_loss = PowerLoss::drop_all, .script = {{operation, Kind::power_loss_before}}});
    const ProcessId process = test.run([](env::Environment& environment) {
      auto file = environment.disk.open("/file", env::OpenMode::create_new);
      EXPECT_TRUE(write_text(**file, 0, "text"));
      EXPECT_TRUE((*file)->sync_data());
      EXPECT_TRUE(environment.disk.sync_directory("/"));
    });
    reached = test.world().state(process) == ProcessEnd::power_lost;
    EXPECT_EQ(test.contents("/file"), reached ? "-" : "text");
  }
  EXPECT_EQ(operation - 2, 4U) << "operations of the workload";
}

TEST(DiskFaultsTest, AFileCanBeLostOrCutOrThereTwice) {
  TestWorld test;
  test.run([](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    EXPECT_TRUE(write_text(**file, 0, "some bytes"));
  });
  DiskDevice& disk = test.machine().disk;
  EXPECT_TRUE(disk.created_at("/file"));
  EXPECT_FALSE(disk.created_at("/copy"));
  disk.copy_file("/file", "/copy");
  EXPECT_EQ(test.contents("/copy"), "some bytes");
  env::Random random(1);
  bool cut = false;
  for (int times = 0; times < 100 && test.contents("/file") != "-"; ++times) {
    disk.lose_file("/file", random);
    const std::string left = test.contents("/file");
    cut = cut || (left != "-" && left != "some bytes");
    EXPECT_TRUE(left == "-" || std::string("some bytes").starts_with(left));
  }
  EXPECT_EQ(test.contents("/file"), "-");
  EXPECT_TRUE(cut) << "another seed";
}

TEST(DiskFaultsTest, HandlesCanBeTakenAndGivenBack) {
  TestWorld test;
  test.run([&test](env::Environment& environment) {
    auto first = environment.disk.open("/first", env::OpenMode::create_new);
    ASSERT_TRUE(first);
    test.machine().disk.set_handles_max(1);
    const auto refused = environment.disk.open("/second", env::OpenMode::create_new);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::too_many_files);
    test.machine().disk.set_handles_max(2);
    EXPECT_TRUE(environment.disk.open("/second", env::OpenMode::create_new));
  });
}

TEST(DiskFaultsTest, ErrorsThatMaySpoilALogAreKept) {
  TestWorld test({.script = {{1, Kind::too_many_files},
                             {3, Kind::no_space},
                             {4, Kind::error},
                             {6, Kind::error},
                             {7, Kind::error}}});
  DiskDevice& disk = test.machine().disk;
  test.run([&disk](env::Environment& environment) {
    EXPECT_FALSE(environment.disk.open("/0.log", env::OpenMode::create_new));
    auto log = environment.disk.open("/0.log", env::OpenMode::create_new);
    ASSERT_TRUE(log);
    EXPECT_FALSE(write_text(**log, 0, "no room for this"));
    std::byte byte{};
    EXPECT_FALSE((*log)->read_at(MutableBytes(&byte, 1), Position(0)));
    auto index = environment.disk.open("/0.index", env::OpenMode::create_new);
    ASSERT_TRUE(index);
    EXPECT_FALSE(write_text(**index, 0, "an index can be made anew"));
    EXPECT_FALSE(disk.last_error_in("")) << "of the root, as the directory of a path";
    EXPECT_FALSE((*log)->sync_data());
    EXPECT_TRUE(disk.last_error_in(""));
  });
}

}  // namespace
}  // namespace booblik::sim
