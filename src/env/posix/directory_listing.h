// What is in a directory, by getdents and fstatat. Blocks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "env/disk.h"
#include "env/posix/system_calls.h"

namespace booblik::env {

// Without "." and "..", in no order.
[[nodiscard]] Result<std::vector<std::string>> list_names(SystemCalls& system, const std::string& path);

// As Disk::list says. A name that is removed meanwhile is left out.
[[nodiscard]] Result<std::vector<DirectoryEntry>> list_directory(SystemCalls& system,
                                                                 const std::string& path);

}  // namespace booblik::env
