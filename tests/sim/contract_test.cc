// The environment contract, kept by the simulator too.
#include "contract/contract.h"

#include "sim_contract_world.h"

namespace booblik::env {

const auto kWorlds = ::testing::Values(&sim::make_calm_world, &sim::make_rough_world, &sim::make_lifo_world,
                                       &sim::make_priorities_world);

INSTANTIATE_TEST_SUITE_P(Sim, SchedulerContract, kWorlds);
INSTANTIATE_TEST_SUITE_P(Sim, DiskContract, kWorlds);
INSTANTIATE_TEST_SUITE_P(Sim, NetworkContract, kWorlds);

}  // namespace booblik::env
