// Small things about text that several commands need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace booblik::cli {

// Without the blanks and line ends around it.
[[nodiscard]] std::string_view trim(std::string_view text);

// The pieces between separators, empty ones included; views of `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// For messages: in double quotes, control characters as \xNN, cut after 80 bytes with "..." behind it.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace booblik::cli
