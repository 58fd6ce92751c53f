#include "sim/workload.h"

#include <algorithm>
#include <array>

namespace booblik::sim {

bool Workload::nothing_fails() const {
  return only_spells_fail() && plan.full_disk_odds == 0 && plan.few_handles_odds == 0;
}

bool Workload::only_spells_fail() const {
  const std::array faults{plan.slow_spell_odds,
                          plan.hang_odds,
                          plan.read_error_odds,
                          plan.write_error_odds,
                          plan.sync_error_odds,
                          plan.directory_sync_error_odds,
                          plan.name_error_odds,
                          plan.no_space_odds,
                          plan.too_many_files_odds,
                          plan.handles_max,
                          plan.connections_max,
                          plan.stall_odds,
                          plan.reset_odds,
                          plan.refuse_odds,
                          plan.sync_error_beside_odds,
                          plan.sync_error_after_cut_odds};
  return !plan.rots() && std::ranges::all_of(faults, [](std::int64_t odds) { return odds == 0; });
}

bool Workload::is_fast() const {
  constexpr std::int64_t kFastMicros = 1'000;
  return plan.network_micros_max <= kFastMicros && plan.disk_tail_odds == 0;
}

bool Workload::has_memory() const {
  return plan.request_memory_bytes >= std::int64_t{1} << 19;
}

Duration Workload::time_for(std::int64_t bytes) const {
  constexpr Duration kUsual = std::chrono::milliseconds(500);
  // On average operations of the disk take so much longer; a single one some milliseconds.
  constexpr std::int64_t kTailFactor = Latency{}.tail_factor;
  // What the sockets hold crosses the network, and the word that they have room again comes back. Some turns
  // find them half empty.
  const std::int64_t turns = 4 + 2 * bytes / plan.socket_bytes;
  const Duration tails =
      plan.disk_tail_odds == 0 ? Duration(0) : kUsual * (kTailFactor - 1) / plan.disk_tail_odds + kUsual;
  return kUsual + tails + 2 * turns * Duration(std::chrono::microseconds(plan.network_micros_max));
}

bool Workload::cross_in_time(std::int64_t bytes) const {
  const auto timeout = std::min(plan.frame_timeout_millis, plan.send_timeout_millis);
  return time_for(bytes) < std::chrono::milliseconds(timeout);
}

void Workload::watch_cache() {
  const std::uint64_t dropped = world.probes().count("sim.disk.sync_dropped");
  if (dropped != dropped_syncs) {
    dropped_syncs = dropped;
    model.cache_is_lossy();
  }
}

}  // namespace booblik::sim
