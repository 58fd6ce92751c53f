// The text of a position file: src/client/position_store.h shows it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/result.h"

namespace booblik::client {

using StoredPositions = std::map<std::pair<std::string, PartitionId>, Offset>;

// No store writes more: a file above it is somebody else's.
inline constexpr std::size_t kPositionFileBytesMax = 64 * 1024 * 1024;

[[nodiscard]] std::string format_positions(const StoredPositions& positions);

// `damaged`, or `invalid` for a version of another program; the message begins with what is wrong. Every text
// that format_positions gives comes back, and no other is taken.
[[nodiscard]] Result<StoredPositions> parse_positions(std::string_view text);

}  // namespace booblik::client
