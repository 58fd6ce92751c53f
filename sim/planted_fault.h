// Faults of the harness itself, put in by `--set planted_fault=N`, so that every alarm of booblik-sim can be
// tested from outside. They say nothing about the broker and are never drawn.
#pragma once

#include "env/sync.h"
#include "sim/supervisor.h"
#include "sim/workload.h"

namespace booblik::sim {

enum class PlantedFault {
  none = 0,
  abort = 1,            // a check fails in the middle of the load
  wrong_record = 2,     // a client is given a record that nobody sent
  endless_wait = 3,     // a client waits for an answer that never comes
  unseeded_draw = 4,    // a pause whose length depends on the runs of this process before
  after_a_restart = 5,  // wrong_record, but only when the broker has been restarted: for --shrink
};

// Starts the fiber that does it, if the plan says so. `clients` counts the clients that are still running.
void plant_fault(Workload& workload, const Supervisor& supervisor, env::WaitGroup& clients);

}  // namespace booblik::sim
