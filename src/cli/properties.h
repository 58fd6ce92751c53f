// Configuration files in the syntax of Java's `Properties.load(Reader)`, which the original broker reads:
// `key=value`, `key: value` or `key value`; comments from `#` or `!`; a backslash at the end of a line
// continues it; escapes \t \n
// \r \f \uXXXX (UTF-16 units), any other escaped character stands for itself. Text is UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace booblik::cli {

inline constexpr std::size_t kPropertiesBytesMax = std::size_t{1} << 20U;

struct Property {
  std::string key;
  std::string value;
  int line = 0;  // where it starts, from 1

  auto operator<=>(const Property&) const = default;
};

struct PropertiesProblem {
  int line = 0;
  std::string message;

  auto operator<=>(const PropertiesProblem&) const = default;
};

struct Properties {
  std::vector<Property> entries;  // as they stand in the text, repeated keys included
  std::vector<PropertiesProblem> problems;
};

// Total: every text gives entries and problems. Memory is bounded by the text, of which only
// kPropertiesBytesMax are taken (more is a problem).
[[nodiscard]] Properties parse_properties(std::string_view text);

}  // namespace booblik::cli
