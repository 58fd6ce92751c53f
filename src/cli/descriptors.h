// Whether the process may open as many files as the configuration needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "broker/options.h"

namespace booblik::cli {

struct DescriptorPlan {
  std::int64_t storage = 0;            // to be kept for files
  std::int64_t connections = 0;        // what Options::connections_max has to be
  std::optional<std::string> warning;  // when that is less than was configured
};

// One descriptor for each connection; one for each partition (its active segment); twice
// Options::open_segment_files_max (idle ones, and those that wait for a sync); kOwnDescriptors for the rest.
// `limit` is the process's. Takes fewer connections when it is low; fails with `too_many_files` when not even
// kFewestConnections would be left (or as many as are configured, if that is less).
[[nodiscard]] Result<DescriptorPlan> plan_descriptors(std::int64_t limit, const broker::Options& options);

// Standard streams, epoll, signals, listener, lock, checkpoint, directories while they are synced, new
// segments.
inline constexpr std::int64_t kOwnDescriptors = 64;
inline constexpr std::int64_t kFewestConnections = 16;

}  // namespace booblik::cli
