// What the two clients of the workload that use src/client have in common.
#pragma once

#include <cstdint>
#include <string>

#include "client/address.h"
#include "client/reconnect.h"
#include "client/roles.h"
#include "env/random.h"
#include "sim/watched_network.h"
#include "sim/workload.h"

namespace booblik::sim {

class LibraryClient {
 public:
  LibraryClient(Workload& workload, std::uint64_t number);

 protected:
  void pause(std::int64_t mean_millis);
  [[nodiscard]] client::Address broker() const { return {"127.0.0.1", workload_.port}; }
  [[nodiscard]] Duration patience() const {
    return std::chrono::milliseconds(workload_.plan.patience_millis);
  }
  [[nodiscard]] client::ReconnectOptions draw_reconnect();
  [[nodiscard]] client::OnConnection watch_connection();
  // The last connection reached the broker that lives now.
  [[nodiscard]] bool is_current() const { return network_.epoch() == workload_.model.epoch(); }
  void violate(const std::string& text);

  Workload& workload_;
  env::Environment& environment_;
  env::Random random_;
  WatchedNetwork network_;
  client::Roles roles_;
};

}  // namespace booblik::sim
