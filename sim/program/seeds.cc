#include "sim/program/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace booblik::sim {
namespace {

constexpr std::size_t kHashDigits = 40;
constexpr std::size_t kSeedHexDigits = 16;

bool is_hex(char character) {
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f') ||
         (character >= 'A' && character <= 'F');
}

Result<std::uint64_t> parse_number(std::string_view digits, int base, std::string_view whole) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range) {
    return fail(ErrorCode::invalid, fmt::format("seed {}: it does not fit in 64 bits", whole));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return fail(ErrorCode::invalid,
                fmt::format("seed '{}': write a decimal number, 0x and hexadecimal digits, or the 40 digits "
                            "of a commit hash",
                            whole));
  }
  return value;
}

}  // namespace

Result<std::uint64_t> parse_seed(std::string_view text) {
  if (text.size() == kHashDigits) {
    if (const auto* const wrong = std::ranges::find_if_not(text, is_hex); wrong != text.end()) {
      return fail(ErrorCode::invalid,
                  fmt::format("seed {}: it has the length of a commit hash, but digit {} is '{}'", text,
                              wrong - text.begin() + 1, *wrong));
    }
    return parse_number(text.substr(0, kSeedHexDigits), 16, text);
  }
  if (text.starts_with("0x") || text.starts_with("0X")) {
    return parse_number(text.substr(2), 16, text);
  }
  return parse_number(text, 10, text);
}

Result<SeedRange> parse_seeds(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return fail(ErrorCode::invalid, fmt::format("seeds '{}': write A..B", text));
  }
  const auto first = parse_seed(text.substr(0, dots));
  if (!first) {
    return std::unexpected(first.error());
  }
  const auto last = parse_seed(text.substr(dots + 2));
  if (!last) {
    return std::unexpected(last.error());
  }
  if (*first > *last) {
    return fail(ErrorCode::invalid, fmt::format("seeds {}: the first is above the last", text));
  }
  return SeedRange{*first, *last};
}

}  // namespace booblik::sim
