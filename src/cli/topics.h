// `booblik topics` lists what a broker has, `booblik health` asks whether it answers.
#pragma once

#include "cli/command.h"

namespace booblik::cli {

void add_topics(Commands& commands);
void add_health(Commands& commands);

}  // namespace booblik::cli
