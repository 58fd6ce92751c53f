#include "env/posix/lingering_close.h"

#include <utility>

#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

constexpr std::size_t kDiscardBytes = 64 * 1024;

}  // namespace

class LingeringClose::Socket final : public ReadinessHandler, public Timer {
 public:
  Socket(LingeringClose& owner, Descriptor socket, DescriptorBudget::Claim claim)
      : owner_(owner), socket_(std::move(socket)), claim_(std::move(claim)) {}
  ~Socket() override {
    owner_.reactor_.timers().disarm(*this);
    owner_.reactor_.unwatch(watch_);
  }

  // False: it cannot be watched.
  [[nodiscard]] bool start() {
    const auto watch = owner_.reactor_.watch(socket_.get(), *this);
    if (!watch) {
      return false;
    }
    watch_ = *watch;
    owner_.reactor_.timers().arm(*this, Deadline(owner_.reactor_.clock().now() + kLingerMax));
    return true;
  }

  void on_ready(std::uint32_t) override {
    if (owner_.drain(socket_.get(), discardable_) == Drained::ended) {
      leave();
    }
  }

  void fire() override { leave(); }

 private:
  // Destroys this.
  void leave() { owner_.sockets_.erase(socket_.get()); }

  LingeringClose& owner_;
  Descriptor socket_;
  DescriptorBudget::Claim claim_;
  WatchId watch_;
  std::int64_t discardable_ = kDiscardedBytesMax;
};

LingeringClose::LingeringClose(SystemCalls& system, Reactor& reactor)
    : system_(system),
      reactor_(reactor),
      discarded_(std::make_unique_for_overwrite<std::byte[]>(kDiscardBytes)) {}

LingeringClose::~LingeringClose() = default;

LingeringClose::Drained LingeringClose::drain(int descriptor, std::int64_t& budget) {
  const MutableBytes discarded(discarded_.get(), kDiscardBytes);
  Drained drained = Drained::nothing;
  while (budget > 0) {
    const std::int64_t bytes = uninterrupted([&] { return system_.recv(descriptor, discarded, MSG_TRUNC); });
    if (bytes == -EAGAIN) {
      return drained;
    }
    if (bytes <= 0) {
      return Drained::ended;
    }
    drained = Drained::something;
    budget -= bytes;
  }
  return Drained::ended;
}

void LingeringClose::close(Descriptor socket, DescriptorBudget::Claim claim) {
  std::int64_t discardable = kDiscardedBytesMax;
  const Drained unread = drain(socket.get(), discardable);
  const bool in_danger =
      unread == Drained::something || (unread == Drained::nothing && system_.unsent_bytes(socket.get()) > 0);
  if (!in_danger || sockets_.size() >= kSocketsMax) {
    return;
  }
  system_.shutdown(socket.get(), SHUT_WR);
  const int number = socket.get();
  auto lingering = std::make_unique<Socket>(*this, std::move(socket), std::move(claim));
  if (lingering->start()) {
    sockets_.emplace(number, std::move(lingering));
  }
}

}  // namespace booblik::env
