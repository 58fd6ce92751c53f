// One run of one seed: a plan, a world, a load, and what came of it.
#pragma once

#include <cstdint>
#include <string>

#include "env/fiber/stack_pool.h"
#include "sim/fingerprint.h"
#include "sim/model.h"
#include "sim/plan.h"
#include "sim/probes.h"
#include "sim/trace.h"

namespace booblik::sim {

enum class Verdict { ok, vacuous, safety, liveness };

[[nodiscard]] const char* to_text(Verdict verdict);

struct RunResult {
  Verdict verdict = Verdict::ok;
  std::string reason;
  std::uint64_t fingerprint = 0;
  std::uint64_t events = 0;
  std::uint64_t turns = 0;
  Duration virtual_time{0};
  std::size_t lives = 0;
  std::uint64_t records = 0;
  CheckCounts checks;
  ProbeCounts::Counts probes;
};

// What of a run is written down while it goes on; each may be null. Neither changes the run.
struct Watch {
  TraceSink* sink = nullptr;
  FingerprintHistory* history = nullptr;
};

[[nodiscard]] RunResult run_plan(env::StackPool& stacks, std::uint64_t seed, const Plan& plan,
                                 const Watch& watch);

}  // namespace booblik::sim
