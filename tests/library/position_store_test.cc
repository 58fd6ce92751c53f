#include <booblik/position_store.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "broker_thread.h"

namespace booblik::library {
namespace {

class PositionStoreTest : public testing::Test {
 protected:
  PositionStoreTest() {
    std::string name = (std::filesystem::temp_directory_path() / "booblik-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~PositionStoreTest() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ / "positions"; }

  std::filesystem::path directory_;
  Client client_ = *Client::open({});
};

TEST_F(PositionStoreTest, WhatWasSavedIsThereAgain) {
  {
    auto store = FilePositionStore::open(client_, path());
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_EQ(*(*store)->load("t", 0), std::nullopt);
    ASSERT_TRUE((*store)->save({{"t", 0, 17}, {"t", 1, 4}}).has_value());
    ASSERT_TRUE((*store)->save({{"t", 0, 18}}).has_value());
  }
  auto store = FilePositionStore::open(client_, path());
  ASSERT_TRUE(store.has_value()) << store.error().message;
  PositionStore& positions = **store;
  EXPECT_EQ(*positions.load("t", 0), 18);
  EXPECT_EQ(*positions.load("t", 1), 4);
}

TEST_F(PositionStoreTest, ThreadsMaySaveAtOnce) {
  auto store = FilePositionStore::open(client_, path());
  ASSERT_TRUE(store.has_value());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 1; i <= 10; ++i) {
        ASSERT_TRUE((*store)->save({{"t", thread, i}}).has_value());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int thread = 0; thread < 4; ++thread) {
    EXPECT_EQ(*(*store)->load("t", thread), 10);
  }
}

TEST_F(PositionStoreTest, AFileOfSomebodyElseIsNotTakenForAnEmptyOne) {
  std::ofstream(path()) << "hello\n";
  EXPECT_EQ(FilePositionStore::open(client_, path()).error().kind, FailureKind::storage);
}

TEST_F(PositionStoreTest, BadPositionsAreNamed) {
  auto store = FilePositionStore::open(client_, path());
  ASSERT_TRUE(store.has_value());
  EXPECT_EQ((*store)->save({{"t", -1, 0}}).error().kind, FailureKind::invalid);
  EXPECT_EQ((*store)->save({{"not a name", 0, 0}}).error().kind, FailureKind::invalid);
  EXPECT_EQ((*store)->save({{"t", 0, -5}}).error().kind, FailureKind::invalid);
}

}  // namespace
}  // namespace booblik::library
