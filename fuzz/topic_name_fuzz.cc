// The rule for topic names against a second reading of it.
#include <utf8proc.h>

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/topic_name.h"

namespace {

// Strict UTF-8 by the shortest-form rule: encode what was decoded and compare. Returns the length, 0 if it is
// none.
std::size_t decode(std::string_view text, std::uint32_t& code_point) {
  const auto byte = [text](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xC0 ? 0
                             : byte(0) < 0xE0 ? 2
                             : byte(0) < 0xF0 ? 3
                                              : 4;
  if (length == 0 || length > text.size() || byte(0) >= 0xF8) {
    return 0;
  }
  code_point = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return 0;
    }
    code_point = (code_point << 6U) | (byte(i) & 0x3FU);
  }
  const std::size_t shortest = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return length == shortest && !surrogate && code_point <= 0x10FFFF ? length : 0;
}

bool reference(std::string_view name) {
  if (name.empty() || name.size() > 249) {
    return false;
  }
  while (!name.empty()) {
    std::uint32_t code_point = 0;
    const std::size_t length = decode(name, code_point);
    if (length == 0) {
      return false;
    }
    const std::string_view category = utf8proc_category_string(static_cast<utf8proc_int32_t>(code_point));
    const bool mark = code_point == '.' || code_point == '_' || code_point == '-';
    if (!mark && category.front() != 'L' && category != "Nd") {
      return false;
    }
    name.remove_prefix(length);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  const std::string_view name = as_text(std::as_bytes(std::span(data, size)));
  const bool valid = wire::is_valid_topic_name(name);
  BOOBLIK_CHECK(valid == reference(name), "both readings of the rule agree");
  const auto checked = wire::check_topic_name(name);
  BOOBLIK_CHECK(checked.has_value() == valid, "the explanation agrees with the rule");
  BOOBLIK_CHECK(checked || !checked.error().message.empty(), "an error has a message");
  return 0;
}
