// Which booblik this is.
#pragma once

#include <string_view>

#include "cli/command.h"

namespace booblik::cli {

// "0.1.0", from meson.build.
[[nodiscard]] std::string_view version();

void add_version(Commands& commands);

}  // namespace booblik::cli
