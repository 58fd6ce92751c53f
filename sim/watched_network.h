// The network as a library client of the workload sees it, which remembers what the model knew when the last
// connection was made: the library connects by itself, and its answers must be judged by the broker's life
// that gave them.
#pragma once

#include <memory>
#include <string>

#include "env/network.h"
#include "sim/model.h"

namespace booblik::sim {

class WatchedNetwork final : public env::Network {
 public:
  WatchedNetwork(env::Network& network, const Model& model) : network_(network), model_(model) {}

  Result<std::unique_ptr<env::Listener>> listen(const std::string& host, std::uint16_t port) override {
    return network_.listen(host, port);
  }
  Result<std::unique_ptr<env::Connection>> connect(const std::string& host, std::uint16_t port,
                                                   Deadline deadline) override {
    auto connection = network_.connect(host, port, deadline);
    if (connection) {
      // Whoever answers on it lived when it was made: if this was the end of a life already, nobody answers.
      epoch_ = model_.epoch();
      life_ = model_.life();
      ++connections_;
    }
    return connection;
  }

  // Of the connection that was made last.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] std::uint32_t life() const { return life_; }
  [[nodiscard]] std::uint64_t connections() const { return connections_; }

 private:
  env::Network& network_;
  const Model& model_;
  std::uint64_t epoch_ = 0;
  std::uint32_t life_ = 0;
  std::uint64_t connections_ = 0;
};

}  // namespace booblik::sim
