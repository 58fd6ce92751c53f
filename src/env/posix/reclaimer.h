// Gives the space of removed files back, slowly.
//
// Freeing much at once hurts others: a barrier of another file waits while blocks are freed and discarded
// (measured on ext4 with `discard`: p99 of 60-71 ms beside 1 GiB in one call; a step of 16 MiB takes 3.4 ms,
// one of 4 MiB 1.5 ms). So files are cut step by step, one step of one file at a time, each a job of its own
// for the worker, with a pause behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/time.h"
#include "env/posix/descriptor.h"
#include "env/posix/descriptor_budget.h"
#include "env/posix/reactor.h"
#include "env/posix/system_calls.h"
#include "env/posix/worker_pool.h"

namespace booblik::env {

class Reclaimer final : private Timer {
 public:
  static constexpr std::int64_t kStepBytes = std::int64_t{4} * 1024 * 1024;
  // A pause lasts at least so many times as long as the step before it: three quarters of the time the disk
  // is left to others, however slow it is.
  static constexpr int kRest = 3;
  static constexpr Duration kPauseMax = std::chrono::milliseconds(100);
  // Each waiting file holds a descriptor; with more of them there are no pauses.
  static constexpr std::size_t kUnhurriedFilesMax = 32;

  // What waits is given back within about `spread` after the last file has come, if kRest allows it.
  Reclaimer(SystemCalls& system, Reactor& reactor, WorkerPool& workers, Duration spread);
  ~Reclaimer() override;

  // Takes a file without a name; if it has one, or was opened for reading only, it is just closed.
  // Does not park. When the workers have been stopped, files are closed as they come.
  void take(Descriptor file, DescriptorBudget::Claim claim);

  // How long to wait after a step that took `step`, when `steps` were to be done within `spread` and `files`
  // are waiting.
  [[nodiscard]] static Duration pause_after(Duration step, std::int64_t steps, Duration spread,
                                            std::size_t files);

 private:
  struct File {
    Descriptor descriptor;
    DescriptorBudget::Claim claim;
    std::int64_t steps = 0;  // left, for the pace only
  };

  void fire() override { start_step(); }
  void start_step();
  void finish_step(bool closed);
  // True: the file has been closed, since nothing is left to cut or it cannot be cut.
  [[nodiscard]] bool cut(Descriptor& file);

  SystemCalls& system_;
  Reactor& reactor_;
  WorkerPool& workers_;
  const Duration spread_;
  std::deque<File> files_;  // the first one is being cut; a deque, so that it stays where it is
  bool step_in_flight_ = false;
  Instant step_started_;
  std::int64_t planned_steps_ = 0;  // of all files, when the last one came
};

}  // namespace booblik::env
