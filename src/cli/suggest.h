// "Did you mean ...": the known word that is nearest to a mistyped one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace booblik::cli {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal
// string alignment). Words of more than 256 bytes count as infinitely far.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

// The first of the nearest `known` words, if it is near enough to have been meant: at most a third of the
// word's length away.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

// " (did you mean X?)", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace booblik::cli
