// Where this program comes from.
#pragma once

namespace booblik::sim {

// The commit that it was built from, "-dirty" behind it when files had been changed; "unknown" without git.
[[nodiscard]] const char* build_commit();
// Compiler, its version, build type and sanitizers, like "gcc-12.2.0-release".
[[nodiscard]] const char* build_name();

}  // namespace booblik::sim
