// Where a broker is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace booblik::client {

inline constexpr std::uint16_t kDefaultPort = 9092;

struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = kDefaultPort;

  bool operator==(const Address&) const = default;

  [[nodiscard]] std::string to_string() const;
};

// "HOST:PORT", "HOST" (the default port), "[IPV6]:PORT" or "[IPV6]"; `invalid` says what to write instead.
[[nodiscard]] Result<Address> parse_address(std::string_view text);

}  // namespace booblik::client
