#include "sim/workload.h"

namespace booblik::sim {

bool Workload::nothing_fails() const {
  // Over a slow network a request may stand still for so long that the broker cuts it when memory is short.
  constexpr std::int64_t kFastMicros = 1'000;
  return plan.network_micros_max <= kFastMicros && plan.disk_tail_odds == 0 && plan.full_disk_odds == 0 &&
         plan.slow_spell_odds == 0 && plan.hang_odds == 0 && plan.read_error_odds == 0 &&
         plan.write_error_odds == 0 && plan.sync_error_odds == 0 && plan.directory_sync_error_odds == 0 &&
         plan.name_error_odds == 0 && plan.no_space_odds == 0 && plan.too_many_files_odds == 0 &&
         plan.handles_max == 0 && plan.connections_max == 0 && !plan.rots() && plan.stall_odds == 0 &&
         plan.reset_odds == 0 && plan.refuse_odds == 0;
}

void Workload::watch_cache() {
  const std::uint64_t dropped = world.probes().count("sim.disk.sync_dropped");
  if (dropped != dropped_syncs) {
    dropped_syncs = dropped;
    model.cache_is_lossy();
  }
}

}  // namespace booblik::sim
