// `booblik produce TOPIC`: records from standard input or files to a topic.
#pragma once

#include "cli/command.h"

namespace booblik::cli {

void add_produce(Commands& commands);

}  // namespace booblik::cli
