// `booblik examples`: what to do with it, as lines of shell that run.
#pragma once

#include "cli/command.h"

namespace booblik::cli {

void add_examples(Commands& commands);

}  // namespace booblik::cli
