// Where two runs of one seed part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "env/fiber/stack_pool.h"
#include "sim/fingerprint.h"
#include "sim/plan.h"

namespace booblik::sim {

// The number of the first event that differs (the first event is 1), also when one of them just ends earlier;
// nullopt when there is none.
[[nodiscard]] std::optional<std::uint64_t> first_difference(const FingerprintHistory& one,
                                                            const FingerprintHistory& other);

// Runs the plan twice more, with traces, and shows the lines around the first that differs; around `event`
// when these two agree. Several lines of text.
[[nodiscard]] std::string explain_difference(env::StackPool& stacks, std::uint64_t seed, const Plan& plan,
                                             std::uint64_t event);

}  // namespace booblik::sim
