// The position store on a disk that fails at each of its operations: after any crash it holds the position
// that was saved last or the one that was being saved, never anything else; and damage is told.
#include "client/position_store.h"

#include <gtest/gtest.h>

#include <string>

#include "test_world.h"

namespace booblik::sim {
namespace {

using client::FilePositionStore;
using client::StoredPosition;

constexpr const char* kPath = "/positions";
constexpr std::int64_t kSaves = 4;

struct Story {
  std::int64_t saved = 0;  // the last save that succeeded
  std::int64_t tried = 0;  // the last that was begun
  std::int64_t failed = 0;
  std::int64_t found = -1;  // by the next process; 0 for nothing
  bool opened = false;
};

Result<void> save(FilePositionStore& store, std::int64_t next) {
  const StoredPosition position{"orders", PartitionId(7), Offset(next)};
  return store.save({&position, 1});
}

void save_some(env::Environment& environment, Story& story) {
  auto store = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
  if (!store) {
    return;
  }
  for (std::int64_t next = 1; next <= kSaves; ++next) {
    story.tried = next;
    if (save(**store, next)) {
      story.saved = next;
    } else {
      ++story.failed;
    }
  }
}

void read_back(env::Environment& environment, Story& story) {
  auto store = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
  story.opened = store.has_value();
  if (store) {
    const auto found = (*store)->load("orders", PartitionId(7));
    story.found = found && *found ? (*found)->value() : 0;
  }
}

Story live_through(const DiskOptions& disk, std::uint64_t seed) {
  TestWorld test(disk, {}, seed);
  Story story;
  test.run([&story](env::Environment& environment) { save_some(environment, story); });
  test.run([&story](env::Environment& environment) { read_back(environment, story); });
  return story;
}

std::uint64_t operations_of_a_run() {
  TestWorld test;
  Story story;
  test.run([&story](env::Environment& environment) { save_some(environment, story); });
  EXPECT_EQ(story.saved, kSaves);
  return test.machine().disk.operations();
}

void check_crash(std::uint64_t operation, ScriptedFault::Kind kind, std::optional<PowerLoss> loss) {
  const Story story =
      live_through({.power_loss = loss, .script = {{.operation = operation, .kind = kind}}}, operation);
  ASSERT_TRUE(story.opened) << "operation " << operation << " kind " << static_cast<int>(kind);
  EXPECT_TRUE(story.found == story.saved || story.found == story.tried)
      << "operation " << operation << " kind " << static_cast<int>(kind) << ": found " << story.found
      << ", saved " << story.saved << ", tried " << story.tried;
}

TEST(PositionStoreTest, AnyCrashLeavesTheOldOrTheNewPosition) {
  using Kind = ScriptedFault::Kind;
  const std::uint64_t operations = operations_of_a_run();
  ASSERT_GT(operations, 20U);
  for (std::uint64_t operation = 1; operation <= operations; ++operation) {
    for (const Kind kind : {Kind::kill_before, Kind::kill_within, Kind::kill_after}) {
      check_crash(operation, kind, std::nullopt);
    }
    for (const Kind kind : {Kind::power_loss_before, Kind::power_loss_within, Kind::power_loss_after}) {
      for (const PowerLoss loss : {PowerLoss::keep_all, PowerLoss::drop_all, PowerLoss::prefix,
                                   PowerLoss::pages, PowerLoss::sectors}) {
        check_crash(operation, kind, loss);
      }
    }
  }
}

TEST(PositionStoreTest, AFailedSaveIsToldAndTheNextOneWorks) {
  using Kind = ScriptedFault::Kind;
  for (std::uint64_t operation = 2; operation <= operations_of_a_run(); ++operation) {
    for (const Kind kind : {Kind::error, Kind::no_space, Kind::too_many_files}) {
      const Story story = live_through({.script = {{.operation = operation, .kind = kind}}}, operation);
      ASSERT_TRUE(story.opened);
      EXPECT_LE(story.failed, 1);
      EXPECT_GE(story.saved, kSaves - 1) << "operation " << operation;
      EXPECT_TRUE(story.found == story.saved || story.found == story.tried) << "operation " << operation;
    }
  }
}

TEST(PositionStoreTest, ADamagedFileIsAnErrorAndStaysAsItIs) {
  TestWorld test;
  bool told = false;
  test.run([&told](env::Environment& environment) {
    {
      auto store = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
      EXPECT_TRUE(save(**store, 5));
    }
    auto file = environment.disk.open(kPath, env::OpenMode::read_write);
    EXPECT_TRUE(write_text(**file, 30, "9"));
    const auto store = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
    told = !store && store.error().code == ErrorCode::damaged && store.error().message.contains(kPath) &&
           store.error().message.contains("checksum");
  });
  EXPECT_TRUE(told);
  EXPECT_TRUE(test.contents(kPath).starts_with("booblik-positions 1\norders 7 "));
}

TEST(PositionStoreTest, TwoWritersOfOneFileAreTold) {
  TestWorld test;
  test.run([](env::Environment& environment) {
    auto first = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
    auto second = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
    EXPECT_TRUE(save(**first, 1));
    const auto saved = save(**second, 2);
    EXPECT_FALSE(saved.has_value());
    EXPECT_EQ(saved.error().code, ErrorCode::locked);
    EXPECT_TRUE(save(**first, 3));
  });
  EXPECT_TRUE(test.contents(kPath).contains("orders 7 3\n"));
}

TEST(PositionStoreTest, WhatIsNotSavedAgainStays) {
  TestWorld test;
  test.run([](env::Environment& environment) {
    auto store = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
    EXPECT_TRUE(save(**store, 1));
    const StoredPosition other{"clicks", PartitionId(0), Offset(9)};
    EXPECT_TRUE((*store)->save({&other, 1}));
    const auto again = FilePositionStore::open(environment.scheduler, environment.disk, kPath);
    EXPECT_EQ(*(*again)->load("orders", PartitionId(7)), Offset(1));
    EXPECT_EQ(*(*again)->load("clicks", PartitionId(0)), Offset(9));
    EXPECT_EQ(*(*again)->load("clicks", PartitionId(1)), std::nullopt);
  });
}

}  // namespace
}  // namespace booblik::sim
