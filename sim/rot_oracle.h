// Says which records rot may have reached: those of a segment file that it touched, and no others. So a
// rotten index, checkpoint or neighbour is no excuse for anything. Where somebody meddled with a segment file
// (Workload::meddled_from), it and all behind it have that excuse.
#pragma once

#include <cstdint>

#include "sim/workload.h"

namespace booblik::sim {

// For Model::ask_about_rot; `workload` is borrowed.
[[nodiscard]] Model::AskRot make_rot_oracle(const Workload& workload);

// The segment files that a partition has now, ascending.
struct SegmentOnDisk {
  std::int64_t base = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] std::vector<SegmentOnDisk> segments_on_disk(const Workload& workload, std::size_t partition);

// The bases of the segments that a partition has on disk now, ascending.
[[nodiscard]] std::vector<std::int64_t> segment_bases(const Workload& workload, std::size_t partition);
[[nodiscard]] std::string directory_of(const Workload& workload, std::size_t partition);
[[nodiscard]] std::string segment_path(const Workload& workload, std::size_t partition, std::int64_t base);

}  // namespace booblik::sim
