#include "env/posix/reclaimer.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace booblik::env {

Reclaimer::Reclaimer(SystemCalls& system, Reactor& reactor, WorkerPool& workers, Duration spread)
    : system_(system), reactor_(reactor), workers_(workers), spread_(spread) {}

Reclaimer::~Reclaimer() {
  reactor_.timers().disarm(*this);
}

void Reclaimer::take(Descriptor file, DescriptorBudget::Claim claim) {
  if (workers_.stopping()) {
    return;
  }
  struct stat status{};
  const bool known = system_.fstat(file.get(), &status) >= 0;
  const std::int64_t steps = known ? status.st_size / kStepBytes + 1 : 1;
  files_.push_back({std::move(file), std::move(claim), steps});
  planned_steps_ = 0;
  for (const File& waiting : files_) {
    planned_steps_ += waiting.steps;
  }
  if (!step_in_flight_ && !armed()) {
    start_step();
  }
}

Duration Reclaimer::pause_after(Duration step, std::int64_t steps, Duration spread, std::size_t files) {
  if (files > kUnhurriedFilesMax) {
    return Duration::zero();
  }
  const Duration pace = spread / std::max<std::int64_t>(steps, 1);
  return std::max(std::min(pace, kPauseMax), kRest * step);
}

void Reclaimer::start_step() {
  step_in_flight_ = true;
  step_started_ = reactor_.clock().now();
  auto closed = std::make_unique<bool>(false);
  bool& result = *closed;
  workers_.post(
      WorkerPool::Kind::background,
      [this, &file = files_.front().descriptor, &result] { result = cut(file); },
      [this, owned = std::move(closed)] { finish_step(*owned); });
}

bool Reclaimer::cut(Descriptor& file) {
  struct stat status{};
  const bool known = system_.fstat(file.get(), &status) >= 0;
  const std::int64_t rest = known ? status.st_size - kStepBytes : 0;
  if (rest > 0 && status.st_nlink == 0 && system_.ftruncate(file.get(), rest) >= 0) {
    return false;
  }
  file.reset();
  return true;
}

void Reclaimer::finish_step(bool closed) {
  step_in_flight_ = false;
  File& file = files_.front();
  file.steps = std::max<std::int64_t>(file.steps - 1, 0);
  if (closed) {
    files_.pop_front();
  }
  if (files_.empty() || workers_.stopping()) {
    return;
  }
  const Instant now = reactor_.clock().now();
  const Duration pause = pause_after(now - step_started_, planned_steps_, spread_, files_.size());
  reactor_.timers().arm(*this, Deadline(now + pause));
}

}  // namespace booblik::env
