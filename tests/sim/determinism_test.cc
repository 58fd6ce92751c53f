// One seed, one run.
#include <gtest/gtest.h>

#include <set>

#include "env/sync.h"
#include "test_world.h"

namespace booblik::sim {
namespace {

DiskOptions faulty_disk() {
  DiskOptions disk;
  disk.read_error_odds = 20;
  disk.no_space_odds = 30;
  disk.split_write_odds = 3;
  disk.slow_spell_odds = 50;
  return disk;
}

NetworkOptions faulty_network() {
  return {.short_send_odds = 3, .short_receive_odds = 3, .split_odds = 4, .stall_odds = 20, .reset_odds = 60};
}

void serve(env::Environment& environment) {
  auto listener = environment.network.listen("127.0.0.1", 9092);
  auto file = environment.disk.open("/log", env::OpenMode::read_write);
  if (!file) {
    file = environment.disk.open("/log", env::OpenMode::create_new);
  }
  if (!listener || !file) {
    return;
  }
  while (true) {
    auto connection = (*listener)->accept(Deadline::never());
    std::byte buffer[64];
    while (connection) {
      const auto received = (*connection)->receive(buffer, soon(environment));
      if (!received || *received == 0) {
        break;
      }
      const Bytes part(buffer, *received);
      if ((*file)->write_at(std::span(&part, 1), Position((*file)->size().value_or(0)))) {
        static_cast<void>((*file)->sync_data());
      }
      static_cast<void>((*connection)->send(std::span(&part, 1), soon(environment)));
    }
  }
}

void talk(TestWorld& test) {
  env::Environment& outside = test.world().outside_environment();
  for (int round = 0; round < 20; ++round) {
    auto connection = outside.network.connect("127.0.0.1", 9092, soon(outside));
    std::byte buffer[64] = {};
    const Bytes part(buffer);
    if (connection && (*connection)->send(std::span(&part, 1), soon(outside))) {
      static_cast<void>((*connection)->receive(buffer, soon(outside)));
    }
    test.world().scheduler().sleep(Duration(1'000'000), "sleep");
  }
}

struct Outcome {
  std::uint64_t fingerprint = 0;
  std::uint64_t events = 0;

  bool operator==(const Outcome&) const = default;
};

Outcome run(std::uint64_t seed, Policy policy) {
  TestWorld test(faulty_disk(), faulty_network(), seed, policy);
  env::WaitGroup clients(test.world().scheduler());
  for (int client = 0; client < 3; ++client) {
    clients.add();
    test.world().spawn("client", [&] {
      talk(test);
      clients.done();
    });
  }
  test.world().spawn("supervisor", [&] {
    while (clients.running() > 0) {
      const ProcessId process = test.world().start(test.machine(), "server", serve);
      test.world().scheduler().sleep(Duration(10'000'000), "sleep");
      test.world().lose_power(test.machine());
      EXPECT_NE(test.world().wait(process), ProcessEnd::running);
    }
  });
  test.run_on();
  return {test.world().fingerprint().value(), test.world().fingerprint().events()};
}

TEST(DeterminismTest, TheSameSeedGivesTheSameFingerprint) {
  std::set<std::uint64_t> fingerprints;
  for (const Policy policy : {Policy::fifo, Policy::lifo, Policy::uniform, Policy::priorities}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Outcome first = run(seed, policy);
      EXPECT_EQ(first.fingerprint, run(seed, policy).fingerprint) << "seed " << seed;
      EXPECT_GT(first.events, 200U);
      fingerprints.insert(first.fingerprint);
    }
  }
  EXPECT_EQ(fingerprints.size(), 20U) << "different seeds give different runs";
}

// The value itself is fixed, so every compiler and build type has to come to it.
TEST(DeterminismTest, EveryBuildComesToTheSameFingerprint) {
  EXPECT_EQ(run(42, Policy::uniform).fingerprint, 4775799062816067934U);
}

}  // namespace
}  // namespace booblik::sim
