// The parts of the environment that a client uses. They outlive it.
#pragma once

#include "env/clock.h"
#include "env/network.h"
#include "env/scheduler.h"

namespace booblik::client {

struct Roles {
  env::Scheduler& scheduler;
  env::Clock& clock;
  env::Network& network;
};

}  // namespace booblik::client
