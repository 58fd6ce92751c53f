// Internet addresses and their names.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace booblik::env {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
  [[nodiscard]] std::uint16_t port() const;

  // "127.0.0.1:9092", "[::1]:9092".
  [[nodiscard]] std::string to_string() const;
};

enum class Naming {
  numeric,  // IP addresses only: never blocks
  any,      // names too: asks name servers, so it blocks
};

// All addresses of `host`, the preferred first; never an empty list. Error: unreachable.
[[nodiscard]] Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port,
                                                         Naming naming);

}  // namespace booblik::env
