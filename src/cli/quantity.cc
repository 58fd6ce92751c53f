#include "cli/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace booblik::cli {
namespace {

struct Suffix {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array kByteSuffixes = {
    Suffix{"B", 1},           Suffix{"KiB", 1LL << 10}, Suffix{"MiB", 1LL << 20},
    Suffix{"GiB", 1LL << 30}, Suffix{"TiB", 1LL << 40},
};
constexpr std::array kTimeSuffixes = {
    Suffix{"ms", 1},        Suffix{"s", 1000},       Suffix{"min", 60'000},
    Suffix{"h", 3'600'000}, Suffix{"d", 86'400'000},
};

std::span<const Suffix> suffixes(Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return kByteSuffixes;
    case Unit::milliseconds:
      return kTimeSuffixes;
    default:
      return {};
  }
}

std::optional<std::int64_t> factor_of(std::string_view suffix, Unit unit) {
  if (suffix.empty()) {
    return 1;
  }
  for (const Suffix& known : suffixes(unit)) {
    if (known.name == suffix) {
      return known.factor;
    }
  }
  return std::nullopt;
}

const Suffix* largest_exact(std::int64_t number, Unit unit) {
  const Suffix* largest = nullptr;
  for (const Suffix& suffix : suffixes(unit)) {
    if (suffix.factor == 1 || (number > 0 && number % suffix.factor == 0)) {
      largest = &suffix;
    }
  }
  return largest;
}

}  // namespace

bool is_unlimited(std::string_view text) {
  constexpr std::string_view kLongMax = "9223372036854775807";
  return text == "unlimited" || text == kLongMax;
}

std::optional<std::int64_t> parse_quantity(std::string_view text, Unit unit) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) {
    return std::nullopt;
  }
  std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.starts_with(' ')) {
    suffix.remove_prefix(1);  // "64 MiB", as format_quantity writes it
    if (suffix.empty()) {
      return std::nullopt;
    }
  }
  const auto factor = factor_of(suffix, unit);
  std::int64_t product = 0;
  if (!factor || __builtin_mul_overflow(number, *factor, &product)) {
    return std::nullopt;
  }
  return product;
}

std::string_view unit_help(Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return "a number of bytes, or one with KiB, MiB, GiB or TiB";
    case Unit::milliseconds:
      return "a number of milliseconds, or one with s, min, h or d";
    default:
      return "a whole number";
  }
}

std::string format_quantity(std::int64_t number, Unit unit) {
  const Suffix* suffix = largest_exact(number, unit);
  return suffix == nullptr || suffix->factor == 1
             ? fmt::format("{}", number)
             : fmt::format("{} ({} {})", number, number / suffix->factor, suffix->name);
}

std::string format_compact(std::int64_t number, Unit unit) {
  const Suffix* suffix = largest_exact(number, unit);
  return suffix == nullptr ? fmt::format("{}", number)
                           : fmt::format("{} {}", number / suffix->factor, suffix->name);
}

}  // namespace booblik::cli
