// The oracle of a log's start: what METADATA and out-of-range answers say of it, held against the segment
// files of the simulated disk, and what retention may take and has to take.
#pragma once

#include <cstdint>
#include <string>

#include "sim/workload.h"

namespace booblik::sim {

// METADATA, or a recovery, has said that the log starts at `start`. Call it before the model is told.
void check_start(Workload& workload, std::size_t partition, std::int64_t start);

// A recovery has said so. `power_was_lost`: what the life before it had removed last may be back.
void check_recovered_start(Workload& workload, std::size_t partition, std::int64_t start,
                           bool power_was_lost);

// A FETCH of `offset`, which somebody had been told of, was out of range: retention took it, and nothing
// else.
void check_out_of_range(Workload& workload, std::size_t partition, std::int64_t offset);

// Since when a segment has been sealed that holds `offset` and ends at or below `end`; nullopt when none is.
[[nodiscard]] std::optional<Instant> sealed_since(const Workload& workload, std::size_t partition,
                                                  std::int64_t offset, std::int64_t end);

// Nothing was written and nothing failed for quiet_time(): retention has taken all that it has to.
[[nodiscard]] Duration quiet_time(const Plan& plan);
void check_retention_is_done(Workload& workload);

}  // namespace booblik::sim
