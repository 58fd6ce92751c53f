#include "env/posix/system_error.h"

#include <fmt/format.h>

#include <system_error>

namespace booblik::env {

ErrorCode file_error_code(std::int64_t negated_errno) {
  switch (-negated_errno) {
    case ENOENT:
      return ErrorCode::not_found;
    case EEXIST:
      return ErrorCode::already_exists;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::no_space;
    case EMFILE:
    case ENFILE:
      return ErrorCode::too_many_files;
    default:
      return ErrorCode::io;
  }
}

std::unexpected<Error> fail_system(std::string_view operation, std::string_view subject,
                                   std::int64_t negated_errno) {
  const std::error_code why(static_cast<int>(-negated_errno), std::generic_category());
  return fail(file_error_code(negated_errno),
              fmt::format("cannot {} {}: {}", operation, subject, why.message()));
}

}  // namespace booblik::env
