// Requests that a broker has to refuse: each breaks one rule of the contract, and says which answer is due.
#pragma once

#include <cstddef>
#include <vector>

#include "env/random.h"
#include "sim/answers.h"
#include "sim/workload.h"

namespace booblik::sim {

// Appends one to `bytes` and completes `question`, whose correlation id, partition and epoch are set. The
// records in it are known to the model as refused. `connection` is the number of the client's connection.
void add_refused_request(Workload& workload, env::Random& random, std::uint64_t connection,
                         Question& question, std::vector<std::byte>& bytes);

}  // namespace booblik::sim
