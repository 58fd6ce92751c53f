// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace booblik {

// The number that all of `text` is: decimal, without blanks or a plus sign. nullopt for anything else, and
// for one that `Number` cannot hold.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace booblik
