// The parts of the environment that a client uses. They outlive it.
#pragma once

#include "env/clock.h"
#include "env/network.h"
#include "env/random.h"
#include "env/scheduler.h"

namespace booblik::client {

struct Roles {
  env::Scheduler& scheduler;
  env::Clock& clock;
  env::Network& network;
  env::Random& random;  // spreads the pauses between attempts to reconnect
};

}  // namespace booblik::client
