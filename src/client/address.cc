#include "client/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/numbers.h"

namespace booblik::client {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_number<std::uint16_t>(text);
  return port && *port != 0 ? port : std::nullopt;
}

// A name may hold much (RFC 1123 and what resolvers take beyond it), but nothing that ends it in a text.
bool may_be_host(std::string_view host) {
  return std::ranges::none_of(host, [](char c) {
    return c == '[' || c == ']' || c == '/' || static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
  });
}

}  // namespace

std::string Address::to_string() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Address> parse_address(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return fail(ErrorCode::invalid,
                fmt::format("'{}' is not a broker address: {}; write HOST:PORT, for example "
                            "127.0.0.1:9092",
                            text, why));
  };
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) {
      return bad("the ']' is missing");
    }
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (host.empty()) {
    return bad("the host is missing");
  }
  if (!may_be_host(host)) {
    return bad("the host holds a bracket, a slash, a space or a control character");
  }
  Address address{.host = std::string(host)};
  if (rest.empty()) {
    return address;
  }
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) {
    return bad("the port is not a number from 1 to 65535");
  }
  address.port = *port;
  return address;
}

}  // namespace booblik::client
