#include "env/posix/worker_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/posix/thread.h"

namespace booblik::env {

WorkerPool::WorkerPool(Reactor& reactor, std::size_t threads_max)
    : reactor_(reactor),
      threads_max_(std::max(threads_max, kThreadsMin)),
      running_max_{threads_max_ - 1, threads_max_ - 2, 1} {}

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::run(Kind kind, std::move_only_function<void()> work) {
  bool finished = false;
  const FiberId self = reactor_.current();
  post(kind, std::move(work), [&] {
    finished = true;
    reactor_.unpark(self);
  });
  while (!finished) {
    reactor_.park(Deadline::never());
  }
}

void WorkerPool::post(Kind kind, std::move_only_function<void()> work, std::move_only_function<void()> done) {
  bool start = false;
  {
    const std::lock_guard lock(mutex_);
    BOOBLIK_CHECK(!stopping_, "no work comes after the pool was stopped");
    queued_[static_cast<std::size_t>(kind)].push_back(Job{std::move(work), std::move(done)});
    std::size_t waiting = 0;
    for (const auto& queue : queued_) {
      waiting += queue.size();
    }
    // Those woken for earlier jobs still count as idle, and their jobs as waiting.
    start = waiting > idle_ && threads_.size() < threads_max_;
  }
  if (start) {
    start_thread();
  }
  work_ready_.notify_one();
}

void WorkerPool::start_thread() {
  if (auto thread = env::start_thread([this] { work_until_stopped(); })) {
    threads_.push_back(std::move(*thread));
  } else if (threads_.empty()) {
    run_here();
  }
}

// No thread to be had, not even one: late is better than never.
void WorkerPool::run_here() {
  for (auto& queue : queued_) {
    std::unique_lock lock(mutex_);
    while (!queue.empty()) {
      Job job = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      job.work();
      reactor_.completions().post(std::move(job.done));
      lock.lock();
    }
  }
}

std::size_t WorkerPool::next_kind() const {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!queued_[kind].empty() && running_[kind] < running_max_[kind]) {
      return kind;
    }
  }
  return kKinds;
}

void WorkerPool::work_until_stopped() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::size_t kind = next_kind();
    if (kind == kKinds) {
      if (stopping_) {
        return;  // what is still queued waits for its bound; whoever runs that kind takes it next
      }
      ++idle_;
      work_ready_.wait(lock);
      --idle_;
      continue;
    }
    Job job = std::move(queued_[kind].front());
    queued_[kind].pop_front();
    ++running_[kind];
    lock.unlock();
    job.work();
    lock.lock();
    --running_[kind];
    // Idle before the result is out: who gets it and posts again at once must not start another thread.
    ++idle_;
    lock.unlock();
    reactor_.completions().post(std::move(job.done));
    lock.lock();
    --idle_;
  }
}

void WorkerPool::stop() {
  stopped_ = true;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_ready_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  reactor_.completions().run();
}

}  // namespace booblik::env
