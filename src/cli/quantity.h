// Numbers with a unit, as people write them in configuration: "4096", "64MiB", "30s", "unlimited".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace booblik::cli {

enum class Unit {
  none,
  bytes,         // B, KiB, MiB, GiB, TiB; not kB or M, which mean two things
  milliseconds,  // ms, s, min, h, d; not m, which means two things
};

// No limit: "unlimited", or Long.MAX_VALUE, which the original's configurations write.
[[nodiscard]] bool is_unlimited(std::string_view text);

// A whole decimal number, with one of the unit's suffixes if it has any; the result is in the base unit.
// nullopt for everything else: a sign other than '-', trailing text, a number beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_quantity(std::string_view text, Unit unit);

// What a number of the unit may look like, for error messages: "bytes, or a number with KiB, MiB, GiB, TiB".
[[nodiscard]] std::string_view unit_help(Unit unit);

// The number, and in larger units behind it where that is exact: "67108864 (64 MiB)".
[[nodiscard]] std::string format_quantity(std::int64_t number, Unit unit);

// The number in the largest unit in which it is exact, with the unit: "64 MiB", "7 d", "65535".
[[nodiscard]] std::string format_compact(std::int64_t number, Unit unit);

}  // namespace booblik::cli
