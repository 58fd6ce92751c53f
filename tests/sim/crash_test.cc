// What dies with a process, and what with the power.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "env/sync.h"
#include "test_world.h"

namespace booblik::sim {
namespace {

// Creates a file of the root directory with a synced name and content.
std::unique_ptr<env::File> create_synced(env::Environment& environment, const std::string& path,
                                         std::string_view text) {
  auto file = environment.disk.open(path, env::OpenMode::create_new);
  EXPECT_TRUE(file);
  EXPECT_TRUE(write_text(**file, 0, text));
  EXPECT_TRUE((*file)->sync_data());
  EXPECT_TRUE(environment.disk.sync_directory("/"));
  return std::move(*file);
}

TEST(CrashTest, AKilledProcessLosesNoWrite) {
  TestWorld test({.script = {{.operation = 5, .kind = ScriptedFault::Kind::kill_after}}});
  const ProcessId process = test.run([](env::Environment& environment) {
    auto file = create_synced(environment, "/file", "old");  // operations 1 to 4
    EXPECT_TRUE(write_text(*file, 0, "new"));
    FAIL() << "a dead process runs no further";
  });
  EXPECT_EQ(test.world().state(process), ProcessEnd::killed);
  EXPECT_EQ(test.contents("/file"), "new");
}

TEST(CrashTest, AMachineWithoutPowerLosesWhatWasNotSynced) {
  TestWorld test({.power_loss = PowerLoss::drop_all,
                  .script = {{.operation = 5, .kind = ScriptedFault::Kind::power_loss_after}}});
  const ProcessId process = test.run([](env::Environment& environment) {
    auto file = create_synced(environment, "/file", "old");
    EXPECT_TRUE(write_text(*file, 0, "new"));
    FAIL() << "a dead process runs no further";
  });
  EXPECT_EQ(test.world().state(process), ProcessEnd::power_lost);
  EXPECT_EQ(test.contents("/file"), "old");
}

TEST(CrashTest, ThePowerMayGoSoonAfterAWriteFoundNoRoom) {
  TestWorld test({.power_loss = PowerLoss::drop_all,
                  .script = {{.operation = 5, .kind = ScriptedFault::Kind::no_space}},
                  .power_after_no_space_odds = 1});
  int written = 0;
  const ProcessId process = test.run([&written](env::Environment& environment) {
    auto file = create_synced(environment, "/file", "old");
    EXPECT_FALSE(write_text(*file, 0, "new"));
    while (written < 100 && write_text(*file, 0, "new")) {
      ++written;
    }
  });
  EXPECT_EQ(test.world().state(process), ProcessEnd::power_lost);
  EXPECT_LT(written, 32);
  EXPECT_EQ(test.contents("/file"), "old");
}

TEST(CrashTest, TheNameOfAFileNeedsItsDirectorySynced) {
  TestWorld test({.power_loss = PowerLoss::drop_all,
                  .script = {{.operation = 4, .kind = ScriptedFault::Kind::power_loss_before}}});
  test.run([](env::Environment& environment) { create_synced(environment, "/file", "text"); });
  EXPECT_EQ(test.contents("/file"), "-");
}

TEST(CrashTest, APowerLossWithinABarrierPromisesNothing) {
  TestWorld test({.power_loss = PowerLoss::drop_all,
                  .script = {{.operation = 3, .kind = ScriptedFault::Kind::power_loss_within}}});
  test.run([](env::Environment& environment) { create_synced(environment, "/file", "text"); });
  EXPECT_EQ(test.contents("/file"), "-");
}

TEST(CrashTest, AKillRunsNoDestructorAndLeaksNothing) {
  struct Marks {
    explicit Marks(bool& destroyed) : destroyed_(destroyed) {}
    ~Marks() { destroyed_ = true; }
    bool& destroyed_;
  };
  bool destroyed = false;
  TestWorld test;
  const ProcessId process =
      test.world().start(test.machine(), "process", [&destroyed](env::Environment& environment) {
        const Marks marks(destroyed);
        const auto held = std::make_unique<std::vector<std::string>>(100, std::string(100, 'x'));
        auto file = environment.disk.open("/file", env::OpenMode::create_new);
        auto listener = environment.network.listen("127.0.0.1", 9092);
        env::Event never(environment.scheduler);
        environment.scheduler.spawn("child", [&, more = std::string(100, 'y')] {
          static_cast<void>((*listener)->accept(Deadline::never()));
        });
        never.wait(Deadline::never());
      });
  test.run_on();
  EXPECT_EQ(test.world().describe().size(), 2U);
  test.world().kill(process);
  EXPECT_FALSE(destroyed);
  EXPECT_TRUE(test.world().describe().empty());
  EXPECT_EQ(test.world().state(process), ProcessEnd::killed);
  // The port and the file are free again.
  const ProcessId next = test.run([](env::Environment& environment) {
    EXPECT_TRUE(environment.network.listen("127.0.0.1", 9092));
    EXPECT_TRUE(environment.disk.remove("/file"));
  });
  EXPECT_EQ(test.world().state(next), ProcessEnd::finished);
  EXPECT_TRUE(test.world().leaks(next).none());
}

TEST(CrashTest, TheLockEndsWithItsProcess) {
  TestWorld test;
  const auto hold = [](env::Environment& environment) {
    const auto lock = environment.disk.lock("/");
    EXPECT_TRUE(lock);
    environment.scheduler.park(Deadline::never());
  };
  const ProcessId first = test.run(hold);
  test.run([](env::Environment& environment) {
    const auto lock = environment.disk.lock("/");
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().code, ErrorCode::locked);
    EXPECT_NE(lock.error().message.find("process 1"), std::string::npos) << lock.error().message;
  });
  test.world().kill(first);
  const ProcessId third = test.run(hold);
  test.world().lose_power(test.machine());
  EXPECT_EQ(test.world().state(third), ProcessEnd::power_lost);
  test.world().kill(test.run(hold));
}

TEST(CrashTest, LeaksAreReported) {
  TestWorld test;
  const ProcessId process = test.run([](env::Environment& environment) {
    auto file = environment.disk.open("/file", env::OpenMode::create_new);
    static_cast<void>(file->release());
    environment.scheduler.spawn("forgotten",
                                [&environment] { environment.scheduler.park(Deadline::never()); });
    environment.scheduler.yield();
  });
  const Leaks& leaks = test.world().leaks(process);
  EXPECT_EQ(leaks.handles, 1);
  EXPECT_GE(leaks.memory_blocks, 1);
  ASSERT_EQ(leaks.fibers.size(), 2U) << "the main fiber and the forgotten one";
}

TEST(CrashTest, APeerSeesADeadProcess) {
  TestWorld test;
  const ProcessId server = test.world().start(test.machine(), "server", [](env::Environment& environment) {
    auto listener = environment.network.listen("127.0.0.1", 9092);
    auto connection = (*listener)->accept(Deadline::never());
    (*connection)->on_reset([text = std::string(100, 'x')] { FAIL() << text; });
    environment.scheduler.park(Deadline::never());
  });
  bool ended = false;
  test.world().spawn("client", [&] {
    env::Environment& environment = test.world().outside_environment();
    test.world().scheduler().sleep(Duration(1'000'000), "sleep");
    auto connection = environment.network.connect("127.0.0.1", 9092, soon(environment));
    ASSERT_TRUE(connection);
    const Bytes part = as_bytes("unread");
    EXPECT_TRUE((*connection)->send(std::span(&part, 1), soon(environment)));
    test.world().scheduler().sleep(Duration(5'000'000), "sleep");
    test.world().kill(server);
    std::byte byte;
    const auto received = (*connection)->receive(std::span(&byte, 1), soon(environment));
    ASSERT_FALSE(received) << "the kernel resets a socket with bytes unread";
    EXPECT_EQ(received.error().code, ErrorCode::reset);
    ended = true;
  });
  test.run_on();
  EXPECT_TRUE(ended);
  EXPECT_EQ(test.world().fabric().links(), 0U);
}

TEST(CrashTest, AWorldEndsWithFibersInTheMiddle) {
  TestWorld test;
  test.world().start(test.machine(), "server", [](env::Environment& environment) {
    auto listener = environment.network.listen("127.0.0.1", 9092);
    auto connection = (*listener)->accept(Deadline::never());
    std::byte byte;
    static_cast<void>((*connection)->receive(std::span(&byte, 1), Deadline::never()));
  });
  test.world().spawn("client", [&] {
    env::Environment& environment = test.world().outside_environment();
    const std::string memory(100, 'x');
    auto connection = environment.network.connect("127.0.0.1", 9092, soon(environment));
    std::byte byte;
    static_cast<void>((*connection)->receive(std::span(&byte, 1), Deadline::never()));
  });
  test.run_on();
}

}  // namespace
}  // namespace booblik::sim
