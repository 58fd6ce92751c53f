// Bytes as text: hex, base64, JSON strings. Straight into the output, since `consume` does it per record.
#include <utf8proc.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/record_format.h"

namespace booblik::cli {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// A printable ASCII character that stands for itself in a JSON string.
bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void append_escaped(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\u00";
  out += kHexDigits[c >> 4U];
  out += kHexDigits[c & 15U];
}

}  // namespace

void append_hex(std::string& out, Bytes bytes) {
  for (const std::byte byte : bytes) {
    const auto value = static_cast<unsigned>(byte);
    out += kHexDigits[value >> 4U];
    out += kHexDigits[value & 15U];
  }
}

void append_base64(std::string& out, Bytes bytes) {
  while (!bytes.empty()) {
    const std::size_t taken = bytes.size() < 3 ? bytes.size() : 3;
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = (group << 8U) | (i < taken ? static_cast<unsigned>(bytes[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= taken ? kBase64Digits[(group >> (18U - 6U * i)) & 63U] : '=';
    }
    bytes = bytes.subspan(taken);
  }
}

bool append_json_string(std::string& out, Bytes bytes) {
  const std::size_t before = out.size();
  const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
  out += '"';
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t run = at;
    while (run < bytes.size() && is_plain(text[run])) {
      ++run;
    }
    out.append(reinterpret_cast<const char*>(text + at), run - at);
    at = run;
    if (at == bytes.size()) {
      break;
    }
    if (text[at] < 0x80) {
      append_escaped(out, text[at++]);
      continue;
    }
    utf8proc_int32_t code_point = 0;
    const auto length =
        utf8proc_iterate(text + at, static_cast<utf8proc_ssize_t>(bytes.size() - at), &code_point);
    if (length <= 0) {
      out.resize(before);
      return false;
    }
    out.append(reinterpret_cast<const char*>(text + at), static_cast<std::size_t>(length));
    at += static_cast<std::size_t>(length);
  }
  out += '"';
  return true;
}

}  // namespace booblik::cli
