// Threads for disk calls that block.
//
// Three kinds of work share them, each with a bound of its own, so that none can keep another from running:
// deleting a gigabyte never delays a barrier, and barriers that hang in a broken disk never stop cold reads.
// With n threads at most n - 1 run barriers, n - 2 foreground calls and 1 background step; one thread is thus
// always left for barriers, and one for everything else.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "env/posix/reactor.h"

namespace booblik::env {

class WorkerPool {
 public:
  enum class Kind : std::size_t {
    barrier,     // fdatasync, fsync of a directory
    foreground,  // somebody waits: cold reads, calls that change a directory, name look-ups
    background,  // nobody waits: giving space back
  };
  static constexpr std::size_t kThreadsMin = 3;

  // Threads are started when there is work for them, one by one up to `threads_max` (at least kThreadsMin).
  WorkerPool(Reactor& reactor, std::size_t threads_max);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Runs `work` in a worker and parks the calling fiber until it has returned, however long that takes:
  // `work` may refer to the caller's stack.
  void run(Kind kind, std::move_only_function<void()> work);

  // Runs `work` in a worker and then `done` on the reactor's own stack. Does not park.
  void post(Kind kind, std::move_only_function<void()> work, std::move_only_function<void()> done);

  // Finishes what was posted, ends the threads and runs the `done`s; the pool takes no more work.
  void stop();

  // The pool has been or is being stopped: a `done` must not post more.
  [[nodiscard]] bool stopping() const { return stopped_; }

  [[nodiscard]] std::size_t threads() const { return threads_.size(); }

 private:
  static constexpr std::size_t kKinds = 3;

  struct Job {
    std::move_only_function<void()> work;
    std::move_only_function<void()> done;
  };

  void start_thread();
  void run_here();
  void work_until_stopped();
  // Index of the next kind that has work and room, or kKinds. Under the lock.
  [[nodiscard]] std::size_t next_kind() const;

  Reactor& reactor_;
  std::size_t threads_max_;
  std::array<std::size_t, kKinds> running_max_;
  std::vector<std::thread> threads_;  // the reactor's alone
  bool stopped_ = false;              // the same

  std::mutex mutex_;
  std::condition_variable work_ready_;
  std::array<std::deque<Job>, kKinds> queued_;
  std::array<std::size_t, kKinds> running_{};
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace booblik::env
