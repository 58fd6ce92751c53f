#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace booblik {

void check_failed(const char* file, int line, const char* condition, std::string_view expectation) {
  std::fprintf(stderr, "%s:%d: broken invariant: %.*s (%s)\n", file, line,
               static_cast<int>(expectation.size()), expectation.data(), condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace booblik
