#include "cli/version.h"

#include <fmt/format.h>

namespace booblik::cli {

std::string_view version() {
  return BOOBLIK_VERSION;
}

void add_version(Commands& commands) {
  commands.add({.name = "version", .summary = "Print the version", .examples = "  booblik version\n"}, [] {
    fmt::print("booblik {}\nPRODUCE v1, FETCH v1 v2, METADATA v1\n", version());
    return ExitCode::ok;
  });
}

}  // namespace booblik::cli
