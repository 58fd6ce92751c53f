#include "env/posix/signals.h"

#include <pthread.h>

#include <utility>

#include "env/posix/system_error.h"

namespace booblik::env {

void ignore_broken_pipes() {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
}

Result<std::unique_ptr<Signals>> Signals::create(SystemCalls& system, Reactor& reactor,
                                                 std::initializer_list<int> numbers) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : numbers) {
    sigaddset(&wanted, number);
  }
  const std::int64_t opened = system.signalfd(wanted);
  if (opened < 0) {
    return fail_system("open", "a signal descriptor", opened);
  }
  Descriptor descriptor(system, static_cast<int>(opened));
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  auto signals = std::make_unique<Signals>(system, reactor, std::move(descriptor), before);
  const auto watch = reactor.watch(signals->descriptor_.get(), *signals);
  if (!watch) {
    return std::unexpected(watch.error());
  }
  signals->watch_ = *watch;
  return signals;
}

Signals::Signals(SystemCalls& system, Reactor& reactor, Descriptor descriptor, const sigset_t& mask_before)
    : system_(system),
      reactor_(reactor),
      descriptor_(std::move(descriptor)),
      mask_before_(mask_before),
      changed_(reactor) {}

Signals::~Signals() {
  reactor_.unwatch(watch_);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Signals::on_ready(std::uint32_t) {
  signalfd_siginfo info{};
  const auto bytes = std::as_writable_bytes(std::span(&info, 1));
  while (uninterrupted([&] { return system_.read(descriptor_.get(), bytes); }) == sizeof info) {
    arrived_.push_back(static_cast<int>(info.ssi_signo));
  }
  changed_.notify_all();
}

Result<int> Signals::wait(Deadline deadline) {
  while (arrived_.empty()) {
    if (stopped_) {
      return fail(ErrorCode::closed, "signals are not waited for any more");
    }
    if (changed_.wait(deadline) == Wake::deadline && arrived_.empty()) {
      return fail(ErrorCode::timed_out, "no signal has arrived");
    }
  }
  const int number = arrived_.front();
  arrived_.pop_front();
  return number;
}

void Signals::stop() {
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace booblik::env
