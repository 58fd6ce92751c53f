// `booblik consume TOPIC`: records of a topic to standard output.
#pragma once

#include "cli/command.h"

namespace booblik::cli {

void add_consume(Commands& commands);

}  // namespace booblik::cli
