// Asks a broker what it has.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "client/connection.h"
#include "client/failure.h"
#include "wire/response.h"

namespace booblik::client {

// All topics when `topics` is empty, in the broker's order. An unknown or invalid name fails the whole call.
// Nothing may be outstanding on `connection`. Parks.
[[nodiscard]] Outcome<std::vector<wire::TopicMetadata>> ask_metadata(Connection& connection,
                                                                     std::span<const std::string_view> topics,
                                                                     Deadline deadline);

// One topic, which has at least one partition, numbered from 0 without holes. Parks.
[[nodiscard]] Outcome<wire::TopicMetadata> ask_topic(Connection& connection, std::string_view topic,
                                                     Deadline deadline);

}  // namespace booblik::client
