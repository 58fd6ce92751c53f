// What the clients of a run share.
#pragma once

#include <cstdint>
#include <map>
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
  Instant serving_since{};        // the end of the last recovery
  std::uint64_t connections = 0;  // numbered over the run
  std::uint64_t dropped_syncs = 0;
  std::int64_t open_stores = 0;  // position files that somebody works on just now
  // By partition: the lowest base of a segment file that somebody deleted, cut, or put there. The power may
  // bring back what was there when the log has grown past it, and a copy gives records other offsets, so
  // from there on nothing is known of where records are.
  std::map<std::size_t, std::int64_t> meddled_from{};

  [[nodiscard]] std::string topic_of(std::size_t partition) const {
    return "topic" + std::to_string(partition / static_cast<std::size_t>(plan.partitions));
  }
  [[nodiscard]] PartitionId id_of(std::size_t partition) const {
    return PartitionId(static_cast<std::int32_t>(partition % static_cast<std::size_t>(plan.partitions)));
  }
  // The ackPolicy that a client has drawn, as far as the run has it.
  [[nodiscard]] wire::AckPolicy acks(std::uint64_t drawn) const {
    const auto acks = static_cast<wire::AckPolicy>(drawn);
    return acks == wire::AckPolicy::forced && plan.never_forced != 0 ? wire::AckPolicy::written : acks;
  }
  [[nodiscard]] bool ended() const { return load_is_over || model.violation().has_value(); }
  [[nodiscard]] Instant now() const { return world.now(); }
  // Nothing in the plan fails or hangs, so only the end of a life can break a promise.
  [[nodiscard]] bool nothing_fails() const;
  // Nothing but space and handles, for a while.
  [[nodiscard]] bool only_spells_fail() const;
  // Neither the network nor the disk takes its time.
  [[nodiscard]] bool is_fast() const;
  // So much memory for requests that nobody waits for it.
  [[nodiscard]] bool has_memory() const;
  // Nothing slows an answer down, or takes a connection away, that was made in `epoch`: its broker lives and
  // has not been told to stop.
  [[nodiscard]] bool is_calm_since(std::uint64_t epoch) const {
    return nothing_fails() && epoch == model.epoch() && !stop_requested;
  }
  // A connection that is never made again, of a client that does not know the epochs.
  [[nodiscard]] bool undisturbed() const { return nothing_fails() && is_fast() && plan.life_millis == 0; }
  // What an answer may take in a calm run, its way and that of its request included, when its connection
  // carries `bytes` for it.
  [[nodiscard]] Duration time_for(std::int64_t bytes) const;
  // They cross this network before the broker has to cut a frame or an answer that does not get on.
  [[nodiscard]] bool cross_in_time(std::int64_t bytes) const;
  // Tells the model when the page cache has lost something.
  void watch_cache();
};

}  // namespace booblik::sim
