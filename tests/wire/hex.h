// Frames in tests are written as hex, spaces ignored, so that they can be read beside docs/protocol.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace booblik {

inline std::vector<std::byte> from_hex(std::string_view hex) {
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') {
      digits += c;
    }
  }
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

inline std::string to_hex(Bytes bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += kDigits[static_cast<std::size_t>(byte) >> 4U];
    hex += kDigits[static_cast<std::size_t>(byte) & 15U];
  }
  return hex;
}

// The same digits without the spaces.
inline std::string squeeze(std::string_view hex) {
  return to_hex(from_hex(hex));
}

}  // namespace booblik
