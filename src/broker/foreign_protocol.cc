#include "broker/foreign_protocol.h"

#include <array>

namespace booblik::broker {
namespace {

struct Greeting {
  std::string_view start;
  std::string_view protocol;
};

// Each begins with a byte that makes no valid frame length of ours. Sources: RFC 9112 (methods) and 9113
// (preface), RFC 8446 (record header: handshake, version 3.x), RFC 4253 (identification string), the Redis
// serialization protocol.
constexpr std::array<Greeting, 11> kGreetings{{
    {"PRI * HTTP/2", "HTTP/2"},
    {"GET ", "HTTP"},
    {"POST ", "HTTP"},
    {"PUT ", "HTTP"},
    {"HEAD ", "HTTP"},
    {"DELETE ", "HTTP"},
    {"OPTIONS ", "HTTP"},
    {"CONNECT ", "HTTP"},
    {"\x16\x03", "TLS"},
    {"SSH-", "SSH"},
    {"*1\r\n$", "Redis"},
}};

}  // namespace

std::string_view recognise_foreign_protocol(Bytes first_bytes) {
  const std::string_view text = as_text(first_bytes);
  for (const Greeting& greeting : kGreetings) {
    if (text.starts_with(greeting.start)) {
      return greeting.protocol;
    }
  }
  return {};
}

}  // namespace booblik::broker
