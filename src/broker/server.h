// The broker: a data directory, a listener, and the connections.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "broker/metrics.h"
#include "broker/options.h"
#include "env/environment.h"
#include "log/partition_log.h"

namespace booblik::broker {

class Server {
 public:
  // Locks and recovers the data directory, then binds the port. Options are valid (src/cli checks them).
  // Errors: `locked`, `invalid` (configuration against what is on disk), `address_in_use`, and what disks
  // say. Parks.
  static Result<std::unique_ptr<Server>> open(env::Environment& environment, Options options);

  virtual ~Server() = default;

  // "127.0.0.1:9092", with the port that was really bound.
  [[nodiscard]] virtual const std::string& address() const = 0;

  // For the start-up block: one line for each partition,
  //   orders-0: offsets 0..1200, 3 segment(s), 1610612736 bytes
  [[nodiscard]] virtual std::vector<std::string> describe_partitions() const = 0;

  // Accepts connections until request_stop(), then stops in good order: held FETCHes get an empty success,
  // accepted PRODUCEs are finished and synced, the checkpoint is written if it can be, and the lock released.
  // An error when storage was not finished within Options::shutdown_timeout or storage failed: then some
  // fibers may still be waiting for the disk, and the process should end without destroying this object.
  // Parks.
  [[nodiscard]] virtual Result<void> run() = 0;

  // Makes run() stop; from any fiber of this reactor, any number of times. Does not park.
  virtual void request_stop() = 0;

  [[nodiscard]] virtual const Metrics& metrics() const = 0;

 protected:
  Server() = default;
};

}  // namespace booblik::broker
