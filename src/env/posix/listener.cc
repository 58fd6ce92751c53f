#include "env/posix/listener.h"

#include <algorithm>
#include <utility>

#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

// Skipped without a pause. More of them in a row are not what the kernel documents, and must not keep the
// reactor busy.
constexpr int kLostMax = 64;

bool out_of_resources(std::int64_t error) {
  return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

// accept(2): errors of the connection that was waiting, not of the listener. Each takes one out of the
// backlog, so going on with the next ends.
bool lost_before_accepted(std::int64_t error) {
  return error == -ECONNABORTED || error == -EPROTO || error == -ENETDOWN || error == -ENOPROTOOPT ||
         error == -EHOSTDOWN || error == -ENONET || error == -EHOSTUNREACH || error == -ENETUNREACH;
}

}  // namespace

PosixListener::PosixListener(SocketServices& services, Descriptor socket, DescriptorBudget::Claim claim,
                             std::string address, std::uint16_t port)
    : services_(services),
      socket_(std::move(socket)),
      claim_(std::move(claim)),
      address_(std::move(address)),
      port_(port),
      changed_(services.reactor) {}

Result<void> PosixListener::start() {
  const auto watch = services_.reactor.watch(socket_.get(), *this);
  if (!watch) {
    return std::unexpected(watch.error());
  }
  watch_ = *watch;
  return {};
}

void PosixListener::on_ready(std::uint32_t) {
  pending_ = true;
  changed_.notify_all();
}

std::unique_ptr<Connection> PosixListener::adopt(int accepted, const SocketAddress& peer,
                                                 DescriptorBudget::Claim claim) {
  auto connection = std::make_unique<PosixConnection>(services_, Descriptor(services_.system, accepted),
                                                      std::move(claim), peer.to_string());
  if (!connection->start_accepted()) {
    return nullptr;
  }
  return connection;
}

Result<std::unique_ptr<Connection>> PosixListener::accept(Deadline deadline) {
  Scheduler& scheduler = services_.reactor;
  int lost = 0;  // one after the other
  for (bool last_try = false; socket_.open();) {
    Deadline wake_up = deadline;
    if (pending_) {
      auto claim = services_.budget.claim_network();
      SocketAddress peer;
      const std::int64_t accepted = !claim ? -EMFILE : uninterrupted([&] {
        return services_.system.accept4(socket_.get(), peer.get(), &peer.length,
                                        SOCK_NONBLOCK | SOCK_CLOEXEC);
      });
      if (accepted >= 0) {
        if (auto connection = adopt(static_cast<int>(accepted), peer, std::move(*claim))) {
          return connection;
        }
        continue;
      }
      if (lost_before_accepted(accepted) && ++lost < kLostMax) {
        continue;
      }
      if (accepted == -EAGAIN) {
        pending_ = false;
      } else if (!out_of_resources(accepted) && !lost_before_accepted(accepted)) {
        return fail_system("accept on", address_, accepted);
      } else if (claim) {
        wake_up = std::min(deadline, Deadline(services_.reactor.clock().now() + kRetryInterval));
        lost = 0;
        claim.reset();
      }
    }
    if (last_try) {
      return fail(ErrorCode::timed_out, "nobody has connected to " + address_);
    }
    // A descriptor that is freed matters only to one who was refused for the lack of it.
    const Wake wake =
        pending_ ? wait_any(scheduler, changed_, services_.budget.freed(), wake_up) : changed_.wait(wake_up);
    last_try = wake == Wake::deadline && wake_up == deadline;
    pending_ = pending_ || last_try;
  }
  return fail(ErrorCode::closed, address_ + " does not listen any more");
}

void PosixListener::close() {
  if (socket_.open()) {
    services_.reactor.unwatch(watch_);
    socket_.reset();
    claim_.release();
    changed_.notify_all();
  }
}

}  // namespace booblik::env
