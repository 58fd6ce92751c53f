// What a process is given besides its arguments.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace booblik::cli {

// Names and values, sorted by name.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment_variables();

// A whole file of at most `bytes_max`. Errors: not_found, io; `invalid` for a longer one. Blocks: for the
// time before there is an environment.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Whether this process may make files in `directory`, or make the directory where it is missing. `invalid`
// says who may not and what to do. Only to say it early and well: the answer may be old when it is used.
[[nodiscard]] Result<void> check_writable_directory(const std::string& directory);

}  // namespace booblik::cli
