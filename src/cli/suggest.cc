#include "cli/suggest.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace booblik::cli {

namespace {
constexpr std::size_t kLongestWord = 256;
}

std::size_t edit_distance(std::string_view left, std::string_view right) {
  if (left.size() > kLongestWord || right.size() > kLongestWord) {
    return std::numeric_limits<std::size_t>::max();
  }
  const std::size_t width = right.size() + 1;
  std::vector<std::size_t> two_above(width);
  std::vector<std::size_t> above(width);
  std::vector<std::size_t> row(width);
  for (std::size_t j = 0; j < width; ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t replaced = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
    two_above.swap(above);
    above.swap(row);
  }
  return above[right.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  std::optional<std::string> best;
  std::size_t best_distance = word.size() / 3 + 1;  // beyond it the suggestion would be noise
  for (const std::string& candidate : known) {
    // Each letter more or less is a slip of its own: most candidates need no look.
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= best_distance) {
      continue;
    }
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::optional<std::string> suggestion = nearest(word, known);
  return suggestion ? " (did you mean " + *suggestion + "?)" : "";
}

}  // namespace booblik::cli
