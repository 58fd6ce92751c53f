// `booblik serve`: the broker.
#pragma once

#include "cli/command.h"

namespace booblik::cli {

void add_serve(Commands& commands);

}  // namespace booblik::cli
