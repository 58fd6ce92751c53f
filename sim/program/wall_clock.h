// Real time, for --minutes, for the speed that a summary states and for runs that hang. No simulation sees
// it.
#pragma once

namespace booblik::sim {

[[nodiscard]] double wall_seconds();

}  // namespace booblik::sim
