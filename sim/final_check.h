// Reads everything back, when nothing fails any more.
#pragma once

#include <string>

#include "sim/workload.h"

namespace booblik::sim {

// Reads each partition from its start to its end and compares it with the model. Empty when all of it could
// be read, otherwise what stood in the way. What is wrong with what was read is a violation of the model.
// Parks.
[[nodiscard]] std::string check_everything(Workload& workload);

// Writes a record to each partition and reads the first one that is known of it. Empty when all of it went
// well. Parks.
[[nodiscard]] std::string check_serves(Workload& workload);

// Writes a record to one partition, over a connection of its own. Empty when it was stored. Parks.
[[nodiscard]] std::string check_stores(Workload& workload, std::size_t partition);

}  // namespace booblik::sim
