// The settings of the broker: one table, from which come the file keys, the flags, the environment variables,
// the ranges, the help, and the table in docs/configuration.md (a test compares them).
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "broker/options.h"
#include "cli/quantity.h"
#include "cli/topic_list.h"

namespace booblik::cli {

// A key that the original broker has and that means nothing here.
struct NoEffect {};

// The member of broker::Options that a setting writes; its type decides how the value is read. An optional
// one takes "unlimited".
using Target =
    std::variant<NoEffect, std::string broker::Options::*, Topics broker::Options::*,
                 std::uint16_t broker::Options::*, std::int64_t broker::Options::*,
                 std::optional<std::int64_t> broker::Options::*, std::chrono::milliseconds broker::Options::*,
                 std::optional<std::chrono::milliseconds> broker::Options::*>;

struct Setting {
  std::string_view name;  // the key without "booblik.": "segment.capacity.bytes"
  Target target;
  Unit unit = Unit::none;
  std::int64_t min = 0;  // of numbers, in the unit
  std::int64_t max = 0;
  std::string_view help;  // what it means, one sentence

  [[nodiscard]] std::string key() const;                   // "booblik.segment.capacity.bytes"
  [[nodiscard]] std::string flag() const;                  // "--segment-capacity-bytes"
  [[nodiscard]] std::string environment_variable() const;  // "BOOBLIK_SEGMENT_CAPACITY_BYTES"

  [[nodiscard]] bool has_effect() const { return !std::holds_alternative<NoEffect>(target); }
  [[nodiscard]] bool may_be_unlimited() const;

  // "1 KiB..1 TiB, or unlimited"; empty for what is no number.
  [[nodiscard]] std::string range() const;

  // Reads `text` into its member of `options`; surrounding blanks do not count. On failure the problems,
  // without naming the setting; options are then unchanged.
  [[nodiscard]] std::expected<void, std::vector<std::string>> set(broker::Options& options,
                                                                  std::string_view text) const;

  // Its value for a person; set() reads it back (without what stands in brackets). Empty without effect.
  [[nodiscard]] std::string value(const broker::Options& options) const;
};

// In the order in which they are documented. Names are unique.
[[nodiscard]] std::span<const Setting> settings();

// nullptr for a key that is none.
[[nodiscard]] const Setting* find_by_key(std::string_view key);
[[nodiscard]] const Setting* find_by_environment_variable(std::string_view variable);

}  // namespace booblik::cli
