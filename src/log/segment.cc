#include "log/segment.h"

#include <fmt/format.h>

#include <charconv>

namespace booblik::log {
namespace {

constexpr std::size_t kDigits = 20;
constexpr std::string_view kSegmentSuffix = ".log";
constexpr std::string_view kIndexSuffix = ".booblik-index";

std::optional<Offset> parse_base(std::string_view digits) {
  if (digits.size() != kDigits || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc() || Offset(value) > kOffsetMax) {
    return std::nullopt;
  }
  return Offset(value);
}

}  // namespace

std::string segment_file_name(Offset base) {
  return fmt::format("{:020}{}", base.value(), kSegmentSuffix);
}

std::string index_file_name(Offset base) {
  return fmt::format("{:020}{}", base.value(), kIndexSuffix);
}

FileName parse_file_name(std::string_view name) {
  if (name.size() <= kDigits) {
    return {};
  }
  const auto base = parse_base(name.substr(0, kDigits));
  const std::string_view suffix = name.substr(kDigits);
  if (base && suffix == kSegmentSuffix) {
    return {.kind = FileKind::segment, .base = *base};
  }
  if (base && suffix == kIndexSuffix) {
    return {.kind = FileKind::index, .base = *base};
  }
  return {};
}

}  // namespace booblik::log
