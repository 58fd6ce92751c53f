// One process per data directory.
#pragma once

#include <memory>
#include <string>

#include "env/disk.h"
#include "env/posix/descriptor_budget.h"
#include "env/posix/system_calls.h"

namespace booblik::env {

// flock on `<directory>/lock`: the kernel drops it with the process, so a file left by a crash locks nobody
// out. The process id in the file only serves the message. Another process that was started with exec does
// not inherit it. Errors: locked, not_found, and those of opening and writing a small file.
[[nodiscard]] Result<std::unique_ptr<DirectoryLock>> lock_directory(SystemCalls& system,
                                                                    DescriptorBudget& budget,
                                                                    const std::string& directory);

}  // namespace booblik::env
