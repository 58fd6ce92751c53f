// How a setting's value is read and written, by the type of its member.
#include <fmt/format.h>

#include <utility>

#include "cli/settings.h"
#include "cli/text.h"

namespace booblik::cli {
namespace {

using broker::Options;
using std::chrono::milliseconds;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

using Problems = std::vector<std::string>;

std::unexpected<Problems> problem(std::string sentence) {
  return std::unexpected(Problems{std::move(sentence)});
}

// The number that `text` is, when it is one and in range.
std::expected<std::int64_t, Problems> read_number(const Setting& setting, std::string_view text) {
  const auto number = parse_quantity(text, setting.unit);
  if (!number || *number < setting.min || *number > setting.max) {
    return problem(fmt::format("{} is not possible; write {} ({})", in_quotes(text), setting.range(),
                               unit_help(setting.unit)));
  }
  return *number;
}

template <class Member, class Value>
std::expected<void, Problems> store(Member& member, const std::expected<Value, Problems>& value) {
  if (!value) {
    return std::unexpected(value.error());
  }
  member = Member(*value);
  return {};
}

std::expected<void, Problems> set_text(std::string& member, std::string_view text) {
  if (text.empty()) {
    return problem("it is empty; write a value, or leave it out");
  }
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return problem(fmt::format("{} contains a control character", in_quotes(text)));
    }
  }
  member = text;
  return {};
}

std::int64_t number_of(std::int64_t value) {
  return value;
}
std::int64_t number_of(milliseconds value) {
  return value.count();
}

}  // namespace

bool Setting::may_be_unlimited() const {
  return std::holds_alternative<std::optional<std::int64_t> Options::*>(target) ||
         std::holds_alternative<std::optional<milliseconds> Options::*>(target);
}

std::string Setting::range() const {
  if (max == 0) {
    return "";
  }
  return fmt::format("{}..{}{}", format_compact(min, unit), format_compact(max, unit),
                     may_be_unlimited() ? ", or unlimited" : "");
}

std::expected<void, Problems> Setting::set(Options& options, std::string_view text) const {
  const std::string_view trimmed = trim(text);
  return std::visit(
      Overloaded{
          [](NoEffect) { return std::expected<void, Problems>{}; },
          [&](std::string Options::* member) { return set_text(options.*member, trimmed); },
          [&](Topics Options::* member) { return store(options.*member, parse_topics(trimmed)); },
          [&]<class Number>(std::optional<Number> Options::* member) {
            if (is_unlimited(trimmed)) {
              (options.*member).reset();
              return std::expected<void, Problems>{};
            }
            return store(options.*member, read_number(*this, trimmed));
          },
          [&](auto member) { return store(options.*member, read_number(*this, trimmed)); },
      },
      target);
}

std::string Setting::value(const Options& options) const {
  return std::visit(Overloaded{
                        [](NoEffect) { return std::string(); },
                        [&](std::string Options::* member) { return options.*member; },
                        [&](Topics Options::* member) { return format_topics(options.*member); },
                        [&]<class Number>(std::optional<Number> Options::* member) {
                          const std::optional<Number>& value = options.*member;
                          return value ? format_quantity(number_of(*value), unit) : "unlimited";
                        },
                        [&](auto member) { return format_quantity(number_of(options.*member), unit); },
                    },
                    target);
}

}  // namespace booblik::cli
