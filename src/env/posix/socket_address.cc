#include "env/posix/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <memory>

namespace booblik::env {

std::uint16_t SocketAddress::port() const {
  // The port is at the same place in both families.
  sockaddr_in address{};
  std::memcpy(&address, &storage, sizeof address);
  return ntohs(address.sin_port);
}

std::string SocketAddress::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family() == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof address);
    ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), port());
  }
  sockaddr_in address{};
  std::memcpy(&address, &storage, sizeof address);
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), port());
}

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port, Naming naming) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | (naming == Naming::numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  if (error != 0) {
    return fail(ErrorCode::unreachable,
                fmt::format("{} is no address of a host: {}", host, ::gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    address.length = entry->ai_addrlen;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
  }
  if (addresses.empty()) {
    return fail(ErrorCode::unreachable, host + " has no address");
  }
  return addresses;
}

}  // namespace booblik::env
