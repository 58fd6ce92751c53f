// One life of the real broker in a simulated process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broker/options.h"
#include "sim/world.h"

namespace booblik::sim {

// Shared between a broker's process and those outside; it lives on the world's heap and outlives the process.
struct BrokerLife {
  struct Recovered {
    std::int64_t start = 0;
    std::int64_t end = 0;
  };

  broker::Options options;
  ProcessId process;
  bool opened = false;              // `recovered` is filled
  std::function<void()> on_opened;  // runs then, before anybody is served
  bool ran_to_its_end = false;      // run() returned without an error
  std::string error;
  std::vector<Recovered> recovered;  // by partition
  bool stop = false;
  env::FiberId signal;
};

// Starts a process that opens the server and runs it. `life` outlives the world.
void start_broker(World& world, Machine& machine, BrokerLife& life);

// Asks it to stop in good order.
void request_stop(World& world, BrokerLife& life);

}  // namespace booblik::sim
