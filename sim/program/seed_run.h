// Runs one seed in this process: once, or twice to compare, with a trace or without.
#pragma once

#include <string>

#include "env/fiber/stack_pool.h"
#include "sim/plan.h"
#include "sim/program/report.h"

namespace booblik::sim {

struct SeedTask {
  std::uint64_t seed = 0;
  Plan plan;
  bool twice = false;
  std::string trace_file;  // empty: none; "-": standard output; ".json" at its end: for a viewer
};

[[nodiscard]] SeedReport run_seed(env::StackPool& stacks, const SeedTask& task);

}  // namespace booblik::sim
