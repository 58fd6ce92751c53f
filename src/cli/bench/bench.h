// `booblik bench`: puts a load on a running broker and says what it took.
#pragma once

#include "cli/command.h"

namespace booblik::cli {

void add_bench(Commands& commands);

}  // namespace booblik::cli
