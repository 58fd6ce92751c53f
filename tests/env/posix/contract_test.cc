#include "contract/contract.h"
#include "posix/posix_world.h"

namespace booblik::env {

INSTANTIATE_TEST_SUITE_P(Posix, SchedulerContract, ::testing::Values(&make_posix_world));
INSTANTIATE_TEST_SUITE_P(Posix, DiskContract, ::testing::Values(&make_posix_world));
INSTANTIATE_TEST_SUITE_P(Posix, NetworkContract, ::testing::Values(&make_posix_world));

}  // namespace booblik::env
