// The rule for topic names: 1..249 bytes of valid UTF-8, every code point a Unicode letter (L*), a decimal
// digit (Nd), or one of '.', '_', '-'.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace booblik::wire {

[[nodiscard]] bool is_valid_topic_name(std::string_view name);

// For a person: nothing when the name is valid, otherwise `invalid` saying which rule is broken and where.
[[nodiscard]] Result<void> check_topic_name(std::string_view name);

}  // namespace booblik::wire
