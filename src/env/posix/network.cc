#include "env/posix/network.h"

#include <utility>

#include "env/posix/listener.h"
#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

ErrorCode listen_error_code(std::int64_t error) {
  switch (-error) {
    case EADDRINUSE:
      return ErrorCode::address_in_use;
    case EADDRNOTAVAIL:  // not an address of this machine
    case EACCES:         // a port that needs a privilege
      return ErrorCode::invalid;
    default:
      return ErrorCode::io;
  }
}

std::unexpected<Error> fail_listen(const SocketAddress& address, std::int64_t error) {
  return fail(listen_error_code(error), fail_system("listen on", address.to_string(), error).error().message);
}

}  // namespace

Result<std::vector<SocketAddress>> PosixNetwork::find(const std::string& host, std::uint16_t port) {
  auto addresses = resolve(host, port, Naming::numeric);
  if (!addresses && !host.empty()) {
    workers_.run(WorkerPool::Kind::foreground, [&] { addresses = resolve(host, port, Naming::any); });
  }
  return addresses;
}

Result<PosixNetwork::OpenSocket> PosixNetwork::open_socket(int family) {
  auto claim = services_.budget.claim_network();
  if (!claim) {
    return fail(ErrorCode::too_many_files,
                "the descriptors that are left are kept for storage; raise the limit of open files");
  }
  const std::int64_t opened = services_.system.socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (opened < 0) {
    return fail_system("open", "a socket", opened);
  }
  return OpenSocket{Descriptor(services_.system, static_cast<int>(opened)), std::move(*claim)};
}

Result<std::unique_ptr<Listener>> PosixNetwork::listen(const std::string& host, std::uint16_t port) {
  const auto addresses = find(host, port);
  if (!addresses) {
    return fail(ErrorCode::invalid, addresses.error().message);
  }
  Result<std::unique_ptr<Listener>> listener;
  for (const SocketAddress& address : *addresses) {
    listener = listen_on(address);
    if (listener) {
      break;
    }
  }
  return listener;
}

Result<std::unique_ptr<Listener>> PosixNetwork::listen_on(const SocketAddress& address) {
  auto socket = open_socket(address.family());
  if (!socket) {
    return std::unexpected(std::move(socket).error());
  }
  SystemCalls& system = services_.system;
  const int descriptor = socket->descriptor.get();
  const int on = 1;
  static_cast<void>(system.setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  SocketAddress bound;
  std::int64_t result = system.bind(descriptor, address.get(), address.length);
  if (result >= 0) {
    result = system.listen(descriptor, backlog_);
  }
  if (result >= 0) {
    result = system.getsockname(descriptor, bound.get(), &bound.length);
  }
  if (result < 0) {
    return fail_listen(address, result);
  }
  auto listener = std::make_unique<PosixListener>(services_, std::move(socket->descriptor),
                                                  std::move(socket->claim), bound.to_string(), bound.port());
  if (auto started = listener->start(); !started) {
    return std::unexpected(std::move(started).error());
  }
  return listener;
}

Result<std::unique_ptr<Connection>> PosixNetwork::connect(const std::string& host, std::uint16_t port,
                                                          Deadline deadline) {
  const auto addresses = find(host, port);
  if (!addresses) {
    return std::unexpected(addresses.error());
  }
  std::unexpected<Error> failure = fail(ErrorCode::unreachable, host + " has no address");
  for (const SocketAddress& address : *addresses) {
    auto socket = open_socket(address.family());
    if (!socket) {
      return std::unexpected(std::move(socket).error());
    }
    auto connection = std::make_unique<PosixConnection>(services_, std::move(socket->descriptor),
                                                        std::move(socket->claim), address.to_string());
    auto connected = connection->connect_to(address, deadline);
    if (connected) {
      return connection;
    }
    failure = std::unexpected(std::move(connected).error());
    if (failure.error().code == ErrorCode::timed_out) {
      break;
    }
  }
  return failure;
}

}  // namespace booblik::env
