#include "sim_contract_world.h"

#include "sim/world.h"

namespace booblik::sim {
namespace {

constexpr std::uint64_t kTurnsMax = 20'000'000;

NetworkOptions rough_network() {
  NetworkOptions network;
  network.short_send_odds = 3;
  network.short_receive_odds = 3;
  network.one_byte_odds = 5;
  network.split_odds = 3;
  network.stall_odds = 50;
  network.stall = Duration(20'000'000);
  return network;
}

DiskOptions rough_disk() {
  DiskOptions disk;
  disk.cached_read_odds = 0;
  disk.unparked_write_odds = 0;
  disk.split_write_odds = 2;
  disk.slow_spell_odds = 20;
  return disk;
}

class SimContractWorld final : public env::ContractWorld {
 public:
  SimContractWorld(Policy policy, const DiskOptions& disk, const NetworkOptions& network)
      : world_(stacks_, {.seed = 1, .scheduler = {.policy = policy}, .network = network}),
        machine_(world_.add_machine("machine", disk, ClockOptions{})) {
    static_cast<void>(machine_.disk.files().create_directory("/test"));
  }

  void run(const std::function<void(env::Environment&)>& body) override {
    const ProcessId process = world_.start(machine_, "test", body, World::Memory::worlds);
    const auto stop = world_.run(Instant(std::chrono::hours(10)), kTurnsMax);
    EXPECT_EQ(world_.state(process), ProcessEnd::finished)
        << "waits: " << ::testing::PrintToString(world_.describe());
    EXPECT_NE(stop, SimScheduler::Stop::steps) << "the test does not end";
    const Leaks& leaks = world_.leaks(process);
    EXPECT_TRUE(leaks.fibers.empty()) << ::testing::PrintToString(leaks.fibers);
    EXPECT_EQ(leaks.handles, 0);
    EXPECT_EQ(leaks.connections, 0U);
  }

  [[nodiscard]] std::string directory() const override { return "/test"; }

  void fail_next_sync() override { machine_.disk.fail_next_sync(); }

 private:
  env::StackPool stacks_{env::StackPool::Options{}};
  World world_;
  Machine& machine_;
};

}  // namespace

std::unique_ptr<env::ContractWorld> make_calm_world() {
  return std::make_unique<SimContractWorld>(Policy::fifo, DiskOptions{}, NetworkOptions{});
}

std::unique_ptr<env::ContractWorld> make_rough_world() {
  return std::make_unique<SimContractWorld>(Policy::uniform, rough_disk(), rough_network());
}

std::unique_ptr<env::ContractWorld> make_lifo_world() {
  return std::make_unique<SimContractWorld>(Policy::lifo, DiskOptions{}, rough_network());
}

std::unique_ptr<env::ContractWorld> make_priorities_world() {
  return std::make_unique<SimContractWorld>(Policy::priorities, rough_disk(), NetworkOptions{});
}

}  // namespace booblik::sim
