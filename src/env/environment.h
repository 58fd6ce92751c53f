// Everything that the world is, for the place that puts a program together. A component takes only the roles
// that it uses, by reference; they outlive it.
#pragma once

#include "env/clock.h"
#include "env/disk.h"
#include "env/logger.h"
#include "env/network.h"
#include "env/probe.h"
#include "env/random.h"
#include "env/scheduler.h"

namespace booblik::env {

struct Environment {
  Scheduler& scheduler;
  Clock& clock;
  Disk& disk;
  Network& network;
  Random& random;
  Probe& probe;
  Logger& logger;
};

}  // namespace booblik::env
