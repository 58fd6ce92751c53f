#include "env/posix/connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/held_value.h"
#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

// A silent peer is asked after a minute, and given up two minutes after that.
constexpr int kKeepAliveIdleSeconds = 60;
constexpr int kKeepAliveIntervalSeconds = 20;
constexpr int kKeepAliveProbes = 6;

}  // namespace

PosixConnection::PosixConnection(SocketServices& services, Descriptor socket, DescriptorBudget::Claim claim,
                                 std::string peer)
    : services_(services), socket_(std::move(socket)), claim_(std::move(claim)), peer_(std::move(peer)) {}

PosixConnection::~PosixConnection() {
  BOOBLIK_CHECK(receiver_ == FiberId{} && sender_ == FiberId{}, "nobody waits in a connection that goes");
  if (watch_.value != 0) {
    services_.reactor.unwatch(watch_);
  }
  // After a reset, and when the kernel has delivered or will deliver everything by itself, closing is enough.
  if (socket_.open() && !reset_ && !connecting_) {
    services_.lingering.close(std::move(socket_), std::move(claim_));
  }
}

Result<void> PosixConnection::watch() {
  const auto watch = services_.reactor.watch(socket_.get(), *this);
  if (!watch) {
    return std::unexpected(watch.error());
  }
  watch_ = *watch;
  return {};
}

void PosixConnection::set_option(int level, int name, int value) {
  // None of them is needed for correctness, so a refusal is not an error.
  static_cast<void>(services_.system.setsockopt(socket_.get(), level, name, &value, sizeof value));
}

void PosixConnection::set_options() {
  set_option(IPPROTO_TCP, TCP_NODELAY, 1);
  // A peer whose machine is gone never says so; without this its connection would stay for ever.
  set_option(SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set_option(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set_option(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

Result<void> PosixConnection::start_accepted() {
  set_options();
  return watch();
}

Result<void> PosixConnection::connect_to(const SocketAddress& address, Deadline deadline) {
  set_options();
  connecting_ = true;
  std::int64_t result = services_.system.connect(socket_.get(), address.get(), address.length);
  if (result < 0 && result != -EINPROGRESS && result != -EINTR) {
    return fail(ErrorCode::unreachable, fail_system("connect to", peer_, result).error().message);
  }
  if (auto watched = watch(); !watched) {
    return watched;
  }
  writable_ = result == 0;
  while (!writable_) {
    if (wait(sender_, deadline) == Wake::deadline && !writable_) {
      return fail_timed_out("connecting");
    }
  }
  int error = 0;
  socklen_t length = sizeof error;
  result = services_.system.getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (result < 0 || error != 0) {
    const std::int64_t why = result < 0 ? result : -error;
    return fail(ErrorCode::unreachable, fail_system("connect to", peer_, why).error().message);
  }
  connecting_ = false;
  input_ = Input::possible;
  return {};
}

void PosixConnection::on_ready(std::uint32_t epoll_events) {
  if ((epoll_events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    input_ = Input::present;
    wake(receiver_);
  }
  if ((epoll_events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
    writable_ = true;
    wake(sender_);
  }
  peer_ended_ = peer_ended_ || (epoll_events & (EPOLLRDHUP | EPOLLHUP)) != 0;
  if (connecting_) {
    return;
  }
  // A hang-up of both directions without an error is the good end of a stream whose sending side we have
  // shut.
  if ((epoll_events & EPOLLERR) != 0 || ((epoll_events & EPOLLHUP) != 0 && !sending_shut_)) {
    note_reset();
  }
}

void PosixConnection::note_reset() {
  if (reset_) {
    return;
  }
  reset_ = true;
  wake(receiver_);
  wake(sender_);
  if (on_reset_) {
    std::exchange(on_reset_, nullptr)();
  }
}

void PosixConnection::wake(FiberId fiber) {
  if (fiber != FiberId{}) {
    services_.reactor.unpark(fiber);
  }
}

Wake PosixConnection::wait(FiberId& waiting, Deadline deadline) {
  const HeldValue inside(waiting, services_.reactor.current(), "one fiber receives and one sends at a time");
  bytes_this_turn_ = 0;
  return services_.reactor.park(deadline);
}

Result<void> PosixConnection::wait_for_input(Deadline deadline, bool& last_try) {
  if (last_try) {
    return fail_timed_out("receiving");
  }
  last_try = wait(receiver_, deadline) == Wake::deadline;
  if (last_try && input_ == Input::none) {
    input_ = Input::possible;  // epoll may know and not have said yet
  }
  return {};
}

Result<void> PosixConnection::wait_for_output(Deadline deadline, bool& last_try) {
  if (last_try) {
    return fail_timed_out("sending");
  }
  last_try = wait(sender_, deadline) == Wake::deadline;
  writable_ = writable_ || last_try;
  return {};
}

std::int64_t PosixConnection::receive_now(MutableBytes buffer, int flags) {
  const std::int64_t bytes =
      uninterrupted([&] { return services_.system.recv(socket_.get(), buffer, flags); });
  if (bytes == -EAGAIN) {
    input_ = Input::none;
  } else if (bytes < 0) {
    note_reset();
  }
  return bytes;
}

Result<void> PosixConnection::wait_readable(Deadline deadline) {
  for (bool last_try = false;;) {
    if (aborted_) {
      return fail_reset();
    }
    if (receiving_stopped_ || (input_ == Input::present && !reset_)) {
      return {};
    }
    if (input_ != Input::none) {
      std::array<std::byte, 1> peeked;
      const std::int64_t bytes = receive_now(peeked, MSG_PEEK);
      if (bytes > 0 || (bytes == 0 && !reset_)) {
        return {};
      }
      if (reset_) {
        return fail_reset();
      }
    }
    if (auto waited = wait_for_input(deadline, last_try); !waited) {
      return waited;
    }
  }
}

Result<std::size_t> PosixConnection::receive(MutableBytes buffer, Deadline deadline) {
  BOOBLIK_CHECK(!buffer.empty(), "there is room for what is received");
  for (bool last_try = false;;) {
    if (aborted_) {
      return fail_reset();
    }
    if (receiving_stopped_) {
      return 0;
    }
    if (input_ != Input::none) {
      const std::int64_t bytes = receive_now(buffer, 0);
      if (bytes > 0) {
        // Fewer than there was room for: the socket is empty, and what comes next is a new edge (epoll(7)).
        // Unless the end has been reported already, for which there will be no other.
        const bool emptied = std::cmp_less(bytes, buffer.size()) && !peer_ended_ && !reset_;
        input_ = emptied ? Input::none : Input::possible;
        count(bytes);
        return static_cast<std::size_t>(bytes);
      }
      if (bytes == 0 && !reset_) {
        return 0;
      }
      if (reset_) {
        return fail_reset();
      }
    }
    if (auto waited = wait_for_input(deadline, last_try); !waited) {
      return std::unexpected(std::move(waited).error());
    }
  }
}

// `call` makes one attempt and returns bytes or a negated errno.
template <class Call>
Result<std::int64_t> PosixConnection::send_when_writable(Deadline deadline, Call&& call) {
  for (bool last_try = false;;) {
    if (aborted_ || reset_) {
      return fail_reset();
    }
    if (writable_) {
      const std::int64_t bytes = uninterrupted(call);
      if (bytes >= 0) {
        return bytes;
      }
      if (bytes == -EPIPE && sending_shut_ && !reset_) {
        return fail(ErrorCode::closed, fmt::format("nothing can be sent to {} after shutdown_send", peer_));
      }
      if (bytes == -EPIPE || bytes == -ECONNRESET || bytes == -ETIMEDOUT) {
        note_reset();
        return fail_reset();
      }
      if (bytes != -EAGAIN) {
        return fail_system("send to", peer_, bytes);
      }
      writable_ = false;
    }
    if (auto waited = wait_for_output(deadline, last_try); !waited) {
      return std::unexpected(std::move(waited).error());
    }
  }
}

Result<std::size_t> PosixConnection::send(std::span<const Bytes> parts, Deadline deadline) {
  std::array<iovec, 64> vector;
  std::size_t used = 0;
  for (const Bytes part : parts) {
    if (!part.empty() && used < vector.size()) {
      vector[used++] = iovec{const_cast<std::byte*>(part.data()), part.size()};
    }
  }
  BOOBLIK_CHECK(used > 0, "there is a byte to send");
  msghdr message{};
  message.msg_iov = vector.data();
  message.msg_iovlen = used;
  const auto sent = send_when_writable(
      deadline, [&] { return services_.system.sendmsg(socket_.get(), &message, MSG_NOSIGNAL); });
  if (!sent) {
    return std::unexpected(sent.error());
  }
  count(*sent);
  return static_cast<std::size_t>(*sent);
}

Result<std::int64_t> PosixConnection::send_file(File& file, Position position, std::int64_t length,
                                                Deadline deadline) {
  auto* ours = dynamic_cast<PosixFile*>(&file);
  BOOBLIK_CHECK(ours != nullptr && length > 0, "bytes of a file of the same environment are sent");
  if (auto resident = make_resident(*ours, position, length); !resident) {
    return std::unexpected(std::move(resident).error());
  }
  const auto piece = static_cast<std::size_t>(std::min(length, kSendFilePiece));
  const auto sent = send_when_writable(deadline, [&] {
    return services_.system.sendfile(socket_.get(), ours->descriptor(), position.value(), piece);
  });
  if (!sent) {
    return sent;
  }
  if (*sent == 0) {
    return fail(ErrorCode::io,
                fmt::format("{} ends before position {}", ours->path(), position.value() + length));
  }
  count(*sent);
  return sent;
}

Result<void> PosixConnection::make_resident(PosixFile& file, Position position, std::int64_t length) {
  const Position piece_end = position + std::min(length, kSendFilePiece);
  if (resident_file_ == &file && position >= resident_from_ && piece_end <= resident_to_) {
    return {};
  }
  const std::int64_t window = std::min(length, kResidentWindow);
  if (auto resident = file.make_resident(position, window); !resident) {
    return resident;
  }
  resident_file_ = &file;
  resident_from_ = position;
  resident_to_ = position + window;
  return {};
}

void PosixConnection::count(std::int64_t bytes) {
  bytes_this_turn_ += bytes;
  if (bytes_this_turn_ >= kBytesPerTurn) {
    bytes_this_turn_ = 0;
    services_.reactor.yield();
  }
}

void PosixConnection::shutdown_send() {
  if (socket_.open() && !sending_shut_) {
    sending_shut_ = true;
    services_.system.shutdown(socket_.get(), SHUT_WR);
  }
}

void PosixConnection::stop_receiving() {
  receiving_stopped_ = true;
  wake(receiver_);
}

void PosixConnection::abort() {
  if (aborted_) {
    return;
  }
  aborted_ = true;
  on_reset_ = nullptr;
  const linger hard{1, 0};  // closing then sends a reset instead of the end
  static_cast<void>(services_.system.setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
  services_.reactor.unwatch(std::exchange(watch_, WatchId{}));
  socket_.reset();
  claim_.release();
  wake(receiver_);
  wake(sender_);
}

void PosixConnection::on_reset(std::move_only_function<void()> callback) {
  if (reset_ && callback) {
    callback();
    return;
  }
  on_reset_ = std::move(callback);
}

std::unexpected<Error> PosixConnection::fail_reset() const {
  return fail(ErrorCode::reset, aborted_ ? fmt::format("the connection to {} was aborted", peer_)
                                         : fmt::format("{} has reset the connection", peer_));
}

std::unexpected<Error> PosixConnection::fail_timed_out(std::string_view what) const {
  return fail(ErrorCode::timed_out, fmt::format("{}: {} took longer than its deadline allows", peer_, what));
}

}  // namespace booblik::env
