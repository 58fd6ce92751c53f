// The production environment, put together: one reactor and what it needs. A process may have several.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "env/environment.h"
#include "env/posix/clock.h"
#include "env/posix/descriptor_budget.h"
#include "env/posix/disk.h"
#include "env/posix/logger.h"
#include "env/posix/network.h"
#include "env/posix/reactor.h"
#include "env/posix/system_calls.h"
#include "env/posix/worker_pool.h"

namespace booblik::env {

class NoProbe final : public Probe {
 public:
  void hit(std::string_view) override {}
};

class PosixEnvironment {
 public:
  struct Options {
    StackPool::Options stacks = {};
    std::size_t worker_threads_max = 4;
    std::int64_t storage_descriptors = 96;  // kept for files out of the process's limit
    int listen_backlog = 1024;
    int log_descriptor = 2;
    Duration reclaim_spread = std::chrono::seconds(10);  // see Reclaimer
    // False inside somebody else's program: its signals stay as they are, and its descriptors are not
    // rationed.
    bool owns_process = true;
  };

  // Ignores SIGPIPE if it owns the process. `system` outlives the environment. Errors: too_many_files, io.
  [[nodiscard]] static Result<std::unique_ptr<PosixEnvironment>> create(Options options, SystemCalls& system);
  PosixEnvironment(Options options, SystemCalls& system, std::unique_ptr<PosixClock> clock,
                   std::unique_ptr<Reactor> reactor, std::uint64_t seed);
  PosixEnvironment(const PosixEnvironment&) = delete;
  PosixEnvironment& operator=(const PosixEnvironment&) = delete;
  ~PosixEnvironment();

  [[nodiscard]] Environment roles();

  // Runs `main_body` as the main fiber until it returns, and returns the names of the fibers that had not
  // ended then: none in a correct program. They have been logged and are unwound when the environment goes.
  std::vector<std::string> run(std::move_only_function<void()> main_body);

  SystemCalls& system() { return system_; }
  Reactor& reactor() { return *reactor_; }
  WorkerPool& workers() { return workers_; }
  DescriptorBudget& descriptors() { return descriptors_; }

 private:
  SystemCalls& system_;
  std::unique_ptr<PosixClock> clock_;
  std::unique_ptr<Reactor> reactor_;
  Random random_;
  NoProbe probe_;
  PosixLogger logger_;
  DescriptorBudget descriptors_;
  WorkerPool workers_;
  PosixDisk disk_;
  PosixNetwork network_;
};

}  // namespace booblik::env
