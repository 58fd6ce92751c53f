// A world with one machine, for tests that set each fault exactly.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sim/world.h"

namespace booblik::sim {

inline constexpr std::uint64_t kTestTurnsMax = 1'000'000;

class TestWorld {
 public:
  explicit TestWorld(const DiskOptions& disk = {}, const NetworkOptions& network = {}, std::uint64_t seed = 1,
                     Policy policy = Policy::uniform)
      : world_(stacks_, {.seed = seed, .scheduler = {.policy = policy}, .network = network}),
        machine_(world_.add_machine("machine", disk, ClockOptions{})) {}

  // Starts a process and runs the world until nothing happens any more. The body may write through references
  // only what needs no memory: its heap goes with it.
  ProcessId run(std::function<void(env::Environment&)> body) {
    const ProcessId process = world_.start(machine_, "process", std::move(body));
    run_on();
    return process;
  }
  void run_on() {
    EXPECT_EQ(world_.run(Instant(std::chrono::hours(1)), kTestTurnsMax), SimScheduler::Stop::idle)
        << ::testing::PrintToString(world_.describe());
  }

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] Machine& machine() { return machine_; }

  // What programs of the machine read now; "-" when there is no such file.
  [[nodiscard]] std::string contents(const std::string& path) {
    FileSystem& files = machine_.disk.files();
    const auto number = files.open(path, env::OpenMode::read_only);
    if (!number) {
      return "-";
    }
    std::string text(static_cast<std::size_t>(files.inode(*number).file.size()), ' ');
    static_cast<void>(files.inode(*number).file.read(std::as_writable_bytes(std::span(text)), 0));
    return text;
  }

 private:
  env::StackPool stacks_{env::StackPool::Options{}};
  World world_;
  Machine& machine_;
};

inline Result<void> write_text(env::File& file, std::int64_t position, std::string_view text) {
  const Bytes part = as_bytes(text);
  return file.write_at(std::span(&part, 1), Position(position));
}

inline Deadline soon(env::Environment& environment) {
  return Deadline(environment.clock.now() + std::chrono::seconds(60));
}

}  // namespace booblik::sim
