// What a plan's numbers may be, for those that people choose (--set).
#include <fmt/format.h>

#include <map>
#include <string_view>

#include "sim/plan.h"

namespace booblik::sim {
namespace {

struct Range {
  std::int64_t low;
  std::int64_t high;
};

constexpr Range kOtherwise{0, 1'000'000'000'000};

const std::map<std::string_view, Range>& ranges() {
  static const std::map<std::string_view, Range> kRanges{
      {"topics", {1, 64}},
      {"partitions", {1, 64}},
      {"producers", {0, 1'000}},
      {"consumers", {0, 1'000}},
      {"pollers", {0, 1'000}},
      {"library_producers", {0, 1'000}},
      {"library_consumers", {0, 1'000}},
      {"load_millis", {1, 36'000'000}},
      {"think_millis", {0, 3'600'000}},
      {"depth_max", {1, 10'000}},
      {"batch_max", {1, 10'000}},
      {"payload_max", {1, 1'000'000}},
      {"same_size", {0, 2}},
      {"never_forced", {0, 1}},
      {"patience_millis", {1, 3'600'000}},
      {"wait_max_millis", {0, 300'000}},
      {"life_millis", {0, 36'000'000}},
      {"kill_weight", {0, 1'000}},
      {"power_weight", {0, 1'000}},
      {"stop_weight", {0, 1'000}},
      // The largest record of a run is 1 KiB with its header.
      {"segment_bytes", {1'024, 1'073'741'824}},
      {"index_bytes", {1, 1'073'741'824}},
      {"flush_millis", {0, 3'600'000}},
      {"flush_bytes", {1, 1'073'741'824}},
      {"retention_millis", {0, 36'000'000}},
      {"pipelined_max", {1, 10'000}},
      {"held_max", {1, 10'000}},
      {"open_files_max", {1, 10'000}},
      {"frame_timeout_millis", {1, 3'600'000}},
      {"send_timeout_millis", {1, 3'600'000}},
      {"shutdown_timeout_millis", {100, 3'600'000}},
      {"hang_millis", {0, 3'600'000}},
      {"request_memory_bytes", {4'096, 1'073'741'824}},
      {"policy", {0, 3}},
      {"sector_bytes", {512, 4'096}},
      {"atomic_pages", {0, 1}},
      {"ordered_names", {0, 1}},
      {"file_sync_keeps_name", {0, 1}},
      {"names_park", {0, 1}},
      {"socket_bytes", {1, 1'073'741'824}},
      {"network_micros_max", {1, 10'000'000}},
      {"backlog_max", {1, 10'000}},
      {"reset_keeps_received", {0, 1}},
      {"wall_jump_millis", {0, 1'000'000'000'000}},
      {"drift_per_million", {-900'000, 900'000}},
      {"planted_fault", {0, 5}}};
  return kRanges;
}

}  // namespace

std::string Plan::problem() const {
  Plan copy = *this;
  for (const auto& [name, value] : copy.fields()) {
    const auto found = ranges().find(name);
    const Range range = found == ranges().end() ? kOtherwise : found->second;
    if (*value < range.low || *value > range.high) {
      return fmt::format("{}={}: it has to be in {}..{}", name, *value, range.low, range.high);
    }
  }
  if (sector_bytes != 512 && sector_bytes != 4'096) {
    return fmt::format("sector_bytes={}: a sector has 512 or 4096 bytes", sector_bytes);
  }
  return {};
}

}  // namespace booblik::sim
