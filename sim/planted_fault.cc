#include "sim/planted_fault.h"

#include <array>

#include "base/check.h"

namespace booblik::sim {
namespace {

constexpr int kLooksMax = 1'000'000;

void sleep(Workload& workload, Duration duration) {
  workload.world.scheduler().sleep(duration, "a planted fault");
}

void give_wrong_record(Workload& workload) {
  const std::array<std::byte, 3> bytes{};
  workload.model.fetched(0, 0, bytes);
}

// What a run must not have: something that an earlier run of the process left behind.
Duration unseeded_pause() {
  static std::int64_t runs = 0;
  return std::chrono::microseconds(++runs);
}

void run_fault(Workload& workload, const Supervisor& supervisor) {
  const auto fault = static_cast<PlantedFault>(workload.plan.planted_fault);
  sleep(workload, std::chrono::milliseconds(workload.plan.load_millis / 2));
  switch (fault) {
    case PlantedFault::abort:
      check_failed(__FILE__, __LINE__, "planted", "no fault is planted in a run");
    case PlantedFault::wrong_record:
      return give_wrong_record(workload);
    case PlantedFault::unseeded_draw:
      return sleep(workload, unseeded_pause());
    case PlantedFault::after_a_restart:
      for (int look = 0; look < kLooksMax && supervisor.lives() < 2 && !workload.ended(); ++look) {
        sleep(workload, std::chrono::milliseconds(100));
      }
      if (supervisor.lives() >= 2) {
        give_wrong_record(workload);
      }
      return;
    case PlantedFault::none:
    case PlantedFault::endless_wait:
      return;
  }
}

}  // namespace

void plant_fault(Workload& workload, const Supervisor& supervisor, env::WaitGroup& clients) {
  const auto fault = static_cast<PlantedFault>(workload.plan.planted_fault);
  if (fault == PlantedFault::none) {
    return;
  }
  if (fault == PlantedFault::endless_wait) {
    clients.add();
    workload.world.spawn("planted client", [&workload, &clients] {
      static_cast<void>(workload.world.scheduler().block(Deadline::never(), "an answer", "that never comes"));
      clients.done();
    });
    return;
  }
  workload.world.spawn("planted fault", [&workload, &supervisor] { run_fault(workload, supervisor); });
}

}  // namespace booblik::sim
