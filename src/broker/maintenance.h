// What a broker does by the clock: retention, the checkpoint, the rate line.
#pragma once

#include <string>
#include <vector>

#include "broker/context.h"
#include "env/logger.h"
#include "env/sync.h"
#include "log/data_directory.h"

namespace booblik::broker {

class Maintenance {
 public:
  // Everything is borrowed and outlives this object.
  Maintenance(Context& context, env::Logger& logger, log::DataDirectory& data);
  // stop() must have returned.
  ~Maintenance();

  // Spawns the fibers that the options ask for.
  void start();

  // Ends them, after what they are doing; false if `deadline` came first. Parks.
  [[nodiscard]] bool stop(Deadline deadline);

 private:
  // A crash costs the next start a scan of what came since the last checkpoint.
  static constexpr Duration kCheckpointEvery = std::chrono::seconds(5);

  // Runs `step` every `period` until stop().
  void repeat(const char* name, Duration period, std::move_only_function<void()> step);
  void apply_retention();
  void write_checkpoint_if_changed();
  void print_rates();
  // What an operator has to act on, and would overlook in the log: ", 1 partition takes no writes
  // (orders-0)".
  [[nodiscard]] std::string standing_trouble() const;

  Context& context_;
  env::Logger& logger_;
  log::DataDirectory& data_;
  env::Event stop_event_;
  env::WaitGroup fibers_;
  bool stopping_ = false;
  std::vector<Offset>
      checkpointed_;  // durable offset of each partition, when the checkpoint was written last
  Metrics last_metrics_;
  Instant last_metrics_at_;
};

}  // namespace booblik::broker
