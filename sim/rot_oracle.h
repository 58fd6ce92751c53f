// Says which records rot may have reached: those of a segment file that it touched, and no others. So a
// rotten index, checkpoint or neighbour is no excuse for anything.
#pragma once

#include <cstdint>

#include "sim/workload.h"

namespace booblik::sim {

// For Model::ask_about_rot; `workload` is borrowed.
[[nodiscard]] Model::AskRot make_rot_oracle(const Workload& workload);

// The bases of the segments that a partition has on disk now, ascending.
[[nodiscard]] std::vector<std::int64_t> segment_bases(const Workload& workload, std::size_t partition);

}  // namespace booblik::sim
