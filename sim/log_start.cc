#include "sim/log_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/rot_oracle.h"

namespace booblik::sim {
namespace {

// Retention and rolls by age happen once a second (Plan::broker); what they do takes a moment.
constexpr Duration kTwoPasses = std::chrono::milliseconds(3'500);

std::int64_t total_bytes(const std::vector<SegmentOnDisk>& segments) {
  return std::accumulate(segments.begin(), segments.end(), std::int64_t{0},
                         [](std::int64_t sum, const SegmentOnDisk& each) { return sum + each.bytes; });
}

void violate(Workload& workload, std::size_t partition, const std::string& what) {
  workload.model.violate(fmt::format("partition {}: {}", partition, what));
}

}  // namespace

void check_start(Workload& workload, std::size_t partition, std::int64_t start) {
  const Plan& plan = workload.plan;
  if (plan.rots() || start == workload.model.known_start(partition)) {
    return;
  }
  workload.model.count("log start moved");
  if (plan.retention_bytes == 0 && plan.retention_millis == 0) {
    return violate(workload, partition,
                   fmt::format("the log starts at {}, though nothing may be taken", start));
  }
  if (!workload.machine.disk.created_at(segment_path(workload, partition, start))) {
    return violate(workload, partition,
                   fmt::format("the log starts at {}, where no segment ever began", start));
  }
  const auto segments = segments_on_disk(workload, partition);
  if (!segments.empty() && segments.front().base < start) {
    return violate(
        workload, partition,
        fmt::format("the log starts at {}, and segment {} is still there", start, segments.front().base));
  }
  if (plan.retention_millis == 0) {
    workload.model.count("kept by retention");
    if (const std::int64_t left = total_bytes(segments); left < plan.retention_bytes) {
      violate(workload, partition,
              fmt::format("retention left {} bytes, though it has to keep {}", left, plan.retention_bytes));
    }
  }
}

void check_recovered_start(Workload& workload, std::size_t partition, std::int64_t start,
                           bool power_was_lost) {
  if (workload.plan.rots()) {
    return;
  }
  const auto segments = segments_on_disk(workload, partition);
  if (segments.empty() || segments.front().base != start) {
    return violate(workload, partition,
                   fmt::format("recovery says that the log starts at {}, but segment {} is the first", start,
                               segments.empty() ? -1 : segments.front().base));
  }
  // Retention makes each removal durable before the next one.
  const std::int64_t known = workload.model.known_start(partition);
  const auto back =
      std::ranges::count_if(segments, [known](const SegmentOnDisk& each) { return each.base < known; });
  if (back > (power_was_lost ? 1 : 0)) {
    violate(workload, partition,
            fmt::format("{} segment(s) came back below {}, where the log started", back, known));
  }
}

void check_out_of_range(Workload& workload, std::size_t partition, std::int64_t offset) {
  if (workload.plan.rots()) {
    return;
  }
  workload.model.count("taken by retention");
  const auto segments = segments_on_disk(workload, partition);
  if (!segments.empty() && segments.front().base <= offset) {
    violate(
        workload, partition,
        fmt::format("offset {} is out of range, though segment {} is there", offset, segments.front().base));
  }
}

std::optional<Instant> sealed_since(const Workload& workload, std::size_t partition, std::int64_t offset,
                                    std::int64_t end) {
  for (const std::int64_t base : segment_bases(workload, partition)) {
    if (base > offset) {
      return base <= end ? workload.machine.disk.created_at(segment_path(workload, partition, base))
                         : std::nullopt;
    }
  }
  return std::nullopt;
}

Duration quiet_time(const Plan& plan) {
  const bool takes = plan.retention_bytes != 0 || plan.retention_millis != 0;
  return takes && !plan.rots() ? kTwoPasses + std::chrono::milliseconds(plan.retention_millis) : Duration(0);
}

// Records that are too old are taken although their segment is the newest: it is sealed for that.
void check_rolled_by_age(Workload& workload, std::size_t partition, std::int64_t bytes) {
  if (workload.plan.retention_millis == 0) {
    return;
  }
  workload.model.count("rolled by age");
  if (bytes != 0) {
    violate(workload, partition,
            fmt::format("the only segment holds {} bytes, though all records are older than {} ms", bytes,
                        workload.plan.retention_millis));
  }
}

void check_retention_is_done(Workload& workload) {
  const Plan& plan = workload.plan;
  for (std::size_t partition = 0; partition < workload.model.partitions() && !plan.rots(); ++partition) {
    const auto segments = segments_on_disk(workload, partition);
    if (segments.size() < 2) {
      check_rolled_by_age(workload, partition, total_bytes(segments));
      continue;
    }
    workload.model.count("retention done");
    const std::int64_t rest = total_bytes(segments) - segments.front().bytes;
    // Lost bytes that lie in a file are not bytes of the log.
    const bool has_hole = workload.model.has_hole_from(partition, segments.front().base);
    if (plan.retention_millis != 0) {
      violate(workload, partition,
              fmt::format("{} segments are there, though all records are older than {} ms", segments.size(),
                          plan.retention_millis));
    } else if (plan.retention_bytes != 0 && rest >= plan.retention_bytes && !has_hole) {
      violate(workload, partition,
              fmt::format("segment {} is there, though {} bytes lie behind it and {} have to",
                          segments.front().base, rest, plan.retention_bytes));
    }
  }
}

}  // namespace booblik::sim
