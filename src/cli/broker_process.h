// The life of the broker's process: descriptors, environment, server, signals, end.
#pragma once

#include "cli/command.h"
#include "cli/configuration.h"

namespace booblik::cli {

// Runs a broker until SIGTERM or SIGINT, and returns the exit code of the process. The start-up block goes to
// stdout, what goes wrong to stderr. A second signal ends the process at once, with exit code 1; so does a
// stop that could not be finished (Server::run), because fibers may then still be waiting for the disk.
[[nodiscard]] ExitCode run_broker(Configuration configuration);

}  // namespace booblik::cli
