// A small environment for tests: fibers in arrival order, a clock that only moves when nobody can run, and
// streams in memory that can be cut into pieces of any size. A test that waits for ever fails at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/roles.h"
#include "env/fiber/fiber.h"
#include "env/fiber/stack_pool.h"
#include "env/sync.h"

namespace booblik::client {

class VirtualScheduler final : public env::Scheduler, public env::Clock {
 public:
  VirtualScheduler() : own_stacks_(std::in_place, env::StackPool::Options{}), stacks_(*own_stacks_) {}
  // `stacks` is borrowed, so that many worlds, one after another, can use the same.
  explicit VirtualScheduler(env::StackPool& stacks) : stacks_(stacks) {}
  ~VirtualScheduler() override;

  // Runs `body` as a fiber, and all others, until `body` has returned. False when it waits for something that
  // can never come.
  [[nodiscard]] bool run(std::move_only_function<void()> body);

  env::FiberId spawn(std::string name, std::move_only_function<void()> body) override;
  [[nodiscard]] env::FiberId current() const override { return env::FiberId{running_}; }
  void yield() override;
  env::Wake park(Deadline deadline) override;
  void unpark(env::FiberId fiber) override;

  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] WallTime wall() const override { return WallTime(0); }

  [[nodiscard]] std::size_t fibers() const { return tasks_.size(); }

 private:
  struct Task {
    std::unique_ptr<env::Fiber> fiber;
    bool parked = false;
    bool permit = false;
    bool woken = false;
    Deadline deadline = Deadline::never();
  };

  [[nodiscard]] bool advance_clock();

  std::optional<env::StackPool> own_stacks_;
  env::StackPool& stacks_;
  std::map<std::uint64_t, Task> tasks_;
  std::deque<std::uint64_t> ready_;
  std::uint64_t running_ = 0;
  std::uint64_t last_id_ = 0;
  Instant now_{std::chrono::seconds(1000)};
};

struct StreamLimits {
  std::size_t piece_bytes = SIZE_MAX;      // a receive or a send moves at most so many
  std::size_t buffer_bytes = 64 * 1024;    // so many can be on their way
  std::size_t cut_after_bytes = SIZE_MAX;  // a reset when so many have gone either way
};

class VirtualNetwork final : public env::Network {
 public:
  explicit VirtualNetwork(VirtualScheduler& scheduler) : scheduler_(scheduler) {}

  StreamLimits limits;  // of connections made from now on

  [[nodiscard]] Result<std::unique_ptr<env::Listener>> listen(const std::string& host,
                                                              std::uint16_t port) override;
  [[nodiscard]] Result<std::unique_ptr<env::Connection>> connect(const std::string& host, std::uint16_t port,
                                                                 Deadline deadline) override;

 private:
  class Listening;
  friend class Listening;

  VirtualScheduler& scheduler_;
  std::map<std::uint16_t, Listening*> listening_;
  std::uint16_t next_port_ = 1;
};

struct VirtualWorld {
  VirtualWorld() = default;
  explicit VirtualWorld(env::StackPool& stacks) : scheduler(stacks) {}

  VirtualScheduler scheduler;
  VirtualNetwork network{scheduler};
  env::Random random{1};
  Roles roles{scheduler, scheduler, network, random};
};

}  // namespace booblik::client
