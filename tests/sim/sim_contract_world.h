// The simulator as a world for the environment contract.
#pragma once

#include <cstdint>

#include "contract/contract.h"

namespace booblik::sim {

// A calm world, one where everything is cut, split and slow within what the contract allows, and one more for
// each other way to choose the next fiber.
std::unique_ptr<env::ContractWorld> make_calm_world();
std::unique_ptr<env::ContractWorld> make_rough_world();
std::unique_ptr<env::ContractWorld> make_lifo_world();
std::unique_ptr<env::ContractWorld> make_priorities_world();

}  // namespace booblik::sim
