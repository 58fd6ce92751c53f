// Broken invariants end the process, in release builds too: a broker that no longer knows what is true must
// not go on answering. Errors that a caller can act on are values (result.h), never checks.
#pragma once

#include <string_view>

namespace booblik {

// Prints where and what was expected to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view expectation);

}  // namespace booblik

// `expectation` is a sentence that says what was expected to hold.
#define BOOBLIK_CHECK(condition, expectation)          \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::booblik::check_failed(__FILE__, __LINE__, #condition, expectation))
