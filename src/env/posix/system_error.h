// From errno to what a caller decides by.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace booblik::env {

// `negated_errno` as SystemCalls returns it. The message reads "cannot open data/lock: Permission denied".
[[nodiscard]] std::unexpected<Error> fail_system(std::string_view operation, std::string_view subject,
                                                 std::int64_t negated_errno);

// The code alone, for calls on files.
[[nodiscard]] ErrorCode file_error_code(std::int64_t negated_errno);

// Calls again for as long as a signal interrupts it.
template <class Call>
std::int64_t uninterrupted(Call&& call) {
  std::int64_t result = call();
  while (result == -EINTR) {
    result = call();
  }
  return result;
}

}  // namespace booblik::env
