// A short workload that is always the same, on a disk that fails as a script says: for loops over its first,
// second, ... n-th disk operation. PRODUCEs of all ack policies over several segments, a checkpoint, a
// retention pass, FETCHes, a restart in good order, and whatever restarts the script makes necessary. The
// oracles are those of a seeded run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "env/fiber/stack_pool.h"
#include "sim/disk_device.h"
#include "sim/faults.h"

namespace booblik::sim {

struct ShortRunOptions {
  std::vector<ScriptedFault> script;
  PowerLoss power_loss = PowerLoss::drop_all;
  bool evict = true;  // pages that a failed sync dropped leave the cache, too
};

struct ShortRunResult {
  std::optional<std::string> problem;     // what must not be, or what it waits for
  std::vector<DiskOperation> operations;  // of the workload; what checks it at the end must not fail
  // How many operations there had been at the end of each start of the broker, good or bad.
  std::vector<std::uint64_t> started_at;
  std::uint64_t records_acked = 0;
  std::uint64_t records_checked = 0;  // at the end
  std::uint64_t fingerprint = 0;
};

[[nodiscard]] ShortRunResult run_short(env::StackPool& stacks, const ShortRunOptions& options);

// Every fault that can happen to an operation of this kind, but for power losses and kills.
[[nodiscard]] std::vector<ScriptedFault> failures_of(DiskOperation operation, std::uint64_t number);

}  // namespace booblik::sim
