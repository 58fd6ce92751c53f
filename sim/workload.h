// What the clients of a run share.
#pragma once

#include <cstdint>
#include <string>

#include "sim/model.h"
#include "sim/plan.h"
#include "sim/world.h"

namespace booblik::sim {

struct Workload {
  World& world;
  Machine& machine;  // the broker's
  Model& model;
  const Plan& plan;
  std::uint16_t port = 9092;
  bool load_is_over = false;
  bool stop_requested = false;  // of the present life
  bool retention_was_on = false;
  std::uint64_t connections = 0;  // numbered over the run
  std::uint64_t dropped_syncs = 0;
  std::int64_t open_stores = 0;  // position files that somebody works on just now

  [[nodiscard]] std::string topic_of(std::size_t partition) const {
    return "topic" + std::to_string(partition / static_cast<std::size_t>(plan.partitions));
  }
  [[nodiscard]] PartitionId id_of(std::size_t partition) const {
    return PartitionId(static_cast<std::int32_t>(partition % static_cast<std::size_t>(plan.partitions)));
  }
  [[nodiscard]] bool ended() const { return load_is_over || model.violation().has_value(); }
  [[nodiscard]] Instant now() const { return world.now(); }
  // Nothing in the plan fails, is slow or ends against its will.
  [[nodiscard]] bool nothing_fails() const;
  // Besides, the broker lives to the end: nothing slows an answer down or takes a connection away.
  [[nodiscard]] bool undisturbed() const { return nothing_fails() && plan.life_millis == 0; }
  // Tells the model when the page cache has lost something.
  void watch_cache();
};

}  // namespace booblik::sim
