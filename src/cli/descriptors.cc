#include "cli/descriptors.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/topic_list.h"

namespace booblik::cli {

Result<DescriptorPlan> plan_descriptors(std::int64_t limit, const broker::Options& options) {
  const std::int64_t partitions = partition_count(options.topics);
  const std::int64_t storage = partitions + 2 * options.open_segment_files_max;
  const std::int64_t left = limit - kOwnDescriptors - storage;
  const std::string needs =
      fmt::format("{} partitions, 2 x {} segment files (booblik.limit.open.segment.files) and {} of its own",
                  partitions, options.open_segment_files_max, kOwnDescriptors);
  if (left >= options.connections_max) {
    return DescriptorPlan{
        .storage = storage, .connections = options.connections_max, .warning = std::nullopt};
  }
  const std::int64_t fewest = std::min(kFewestConnections, options.connections_max);
  if (left < fewest) {
    return fail(
        ErrorCode::too_many_files,
        fmt::format(
            "the process may open {} files (ulimit -Hn), but needs {} for {}, and {} for connections; raise "
            "the limit, or configure fewer partitions",
            limit, storage + kOwnDescriptors, needs, fewest));
  }
  return DescriptorPlan{
      .storage = storage,
      .connections = left,
      .warning = fmt::format("takes {} connections and not {} (booblik.limit.connections): the process may "
                             "open {} files (ulimit "
                             "-Hn), of which {} are kept for {}; raise the limit, or lower the setting",
                             left, options.connections_max, limit, storage + kOwnDescriptors, needs)};
}

}  // namespace booblik::cli
