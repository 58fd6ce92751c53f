#include "wire/topic_name.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "wire/protocol.h"

namespace booblik::wire {
namespace {

// For the ASCII half, where nearly all names are: one look-up a byte.
constexpr std::array<bool, 128> kAsciiAllowed = [] {
  std::array<bool, 128> allowed{};
  for (std::size_t c = 0; c < allowed.size(); ++c) {
    allowed[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                 c == '_' || c == '-';
  }
  return allowed;
}();

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}
bool is_allowed_ascii(char c) {
  return is_ascii(c) && kAsciiAllowed[static_cast<unsigned char>(c)];
}

bool is_letter_or_digit(utf8proc_int32_t code_point) {
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
      return true;
    default:
      return false;
  }
}

bool has_valid_length(std::string_view name) {
  return !name.empty() && name.size() <= kMaxTopicNameBytes;
}

struct CodePoint {
  utf8proc_int32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// utf8proc_iterate is strict: overlong forms, surrogates and what lies above U+10FFFF are errors.
CodePoint first_code_point(std::string_view text) {
  CodePoint point;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &point.value);
  point.bytes = length > 0 ? static_cast<std::size_t>(length) : 0;
  return point;
}

bool is_allowed(CodePoint point) {
  return point.value < 0x80 ? kAsciiAllowed[static_cast<std::size_t>(point.value)]
                            : is_letter_or_digit(point.value);
}

// The byte at which `name` stops being valid; its size when it never does.
std::size_t first_invalid(std::string_view name) {
  std::size_t at = 0;
  while (at < name.size()) {
    if (is_allowed_ascii(name[at])) {
      ++at;
      continue;
    }
    const CodePoint point = first_code_point(name.substr(at));
    if (point.bytes == 0 || !is_allowed(point)) {
      return at;
    }
    at += point.bytes;
  }
  return at;
}

}  // namespace

bool is_valid_topic_name(std::string_view name) {
  return has_valid_length(name) && first_invalid(name) == name.size();
}

Result<void> check_topic_name(std::string_view name) {
  if (name.empty()) {
    return fail(ErrorCode::invalid, "a topic name must not be empty");
  }
  if (!has_valid_length(name)) {
    return fail(ErrorCode::invalid, fmt::format("a topic name has at most {} bytes, this one has {}",
                                                kMaxTopicNameBytes, name.size()));
  }
  const std::size_t at = first_invalid(name);
  if (at == name.size()) {
    return {};
  }
  const CodePoint point = first_code_point(name.substr(at));
  if (point.bytes == 0) {
    return fail(ErrorCode::invalid, fmt::format("the topic name is not valid UTF-8 at byte {}", at));
  }
  return fail(
      ErrorCode::invalid,
      fmt::format("a topic name has letters, digits, '.', '_' and '-' only; U+{:04X} at byte {} is neither",
                  point.value, at));
}

}  // namespace booblik::wire
