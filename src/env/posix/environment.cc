#include "env/posix/environment.h"

#include <utility>

#include "env/posix/signals.h"
#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

constexpr std::int64_t kNoDescriptorLimit = std::int64_t{1} << 30;

}  // namespace

Result<std::unique_ptr<PosixEnvironment>> PosixEnvironment::create(Options options, SystemCalls& system) {
  if (options.owns_process) {
    ignore_broken_pipes();
  }
  auto clock = std::make_unique<PosixClock>(system);
  auto reactor = Reactor::create(system, *clock, options.stacks);
  if (!reactor) {
    return std::unexpected(std::move(reactor).error());
  }
  std::uint64_t seed = 0;
  const std::int64_t bytes =
      uninterrupted([&] { return system.random_bytes(std::as_writable_bytes(std::span(&seed, 1))); });
  if (bytes < 0) {
    return fail_system("read", "random bytes", bytes);
  }
  return std::make_unique<PosixEnvironment>(options, system, std::move(clock), std::move(*reactor), seed);
}

PosixEnvironment::PosixEnvironment(Options options, SystemCalls& system, std::unique_ptr<PosixClock> clock,
                                   std::unique_ptr<Reactor> reactor, std::uint64_t seed)
    : system_(system),
      clock_(std::move(clock)),
      reactor_(std::move(reactor)),
      random_(seed),
      logger_(system, *clock_, options.log_descriptor),
      descriptors_(*reactor_, options.owns_process ? descriptor_limit(system) : kNoDescriptorLimit,
                   options.owns_process ? count_open_descriptors(system) : 0, options.storage_descriptors),
      workers_(*reactor_, options.worker_threads_max),
      disk_(system, *reactor_, workers_, descriptors_, options.reclaim_spread),
      network_(system, *reactor_, workers_, descriptors_, options.listen_backlog) {}

PosixEnvironment::~PosixEnvironment() {
  // A worker may be using the stack of a fiber that waits for it.
  workers_.stop();
  reactor_->unwind_unfinished();
}

Environment PosixEnvironment::roles() {
  return Environment{*reactor_, *clock_, disk_, network_, random_, probe_, logger_};
}

std::vector<std::string> PosixEnvironment::run(std::move_only_function<void()> main_body) {
  reactor_->run(std::move(main_body));
  std::vector<std::string> unfinished = reactor_->unfinished();
  for (const std::string& name : unfinished) {
    logger_.write(Level::error, "a fiber has not ended: " + name);
  }
  return unfinished;
}

}  // namespace booblik::env
