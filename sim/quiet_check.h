// Wake-ups on partitions where nothing else happens. Under load a wake-up that is lost is made good by the
// next append; here each request waits for one event, and nothing comes behind it.
#pragma once

#include <cstdint>
#include <string>

#include "sim/workload.h"

namespace booblik::sim {

// For a broker that nobody else uses, with faultless disk and network. FETCHes are held until one append, or
// until their time is over; PRODUCEs wait for their end. Each has to be answered then, and not much later.
// What is wrong with the answers is a violation of the model; returned is what kept it from asking. Parks.
[[nodiscard]] std::string check_quiet(Workload& workload, std::uint64_t seed);

// For the same broker, with retention by age. A FETCH waits for more bytes than there are, and the segment is
// sealed by age: it has to be answered then. Nothing was written for quiet_time() when as much has passed
// since the call. Parks for less than that.
void hold_over_a_roll(Workload& workload, std::uint64_t seed);

}  // namespace booblik::sim
