// A listening TCP socket on the reactor.
#pragma once

#include <string>

#include "env/network.h"
#include "env/posix/connection.h"
#include "env/posix/descriptor.h"
#include "env/posix/descriptor_budget.h"
#include "env/sync.h"

namespace booblik::env {

// It accepts only when the descriptor budget has room; what comes meanwhile waits in the kernel's backlog.
// When the kernel itself has none left (another process may have them), it tries again when a descriptor of
// ours is freed, and otherwise every kRetryInterval: neither does it spin, nor is the listener lost.
class PosixListener final : public Listener, private ReadinessHandler {
 public:
  static constexpr Duration kRetryInterval = std::chrono::milliseconds(100);

  PosixListener(SocketServices& services, Descriptor socket, DescriptorBudget::Claim claim,
                std::string address, std::uint16_t port);
  ~PosixListener() override { close(); }

  [[nodiscard]] Result<void> start();

  [[nodiscard]] Result<std::unique_ptr<Connection>> accept(Deadline deadline) override;
  void close() override;
  [[nodiscard]] const std::string& address() const override { return address_; }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  void on_ready(std::uint32_t epoll_events) override;
  // Null: the connection has gone again.
  [[nodiscard]] std::unique_ptr<Connection> adopt(int accepted, const SocketAddress& peer,
                                                  DescriptorBudget::Claim claim);

  SocketServices& services_;
  Descriptor socket_;
  DescriptorBudget::Claim claim_;
  std::string address_;
  std::uint16_t port_;
  WatchId watch_;
  Event changed_;  // something to accept, or closed
  bool pending_ = true;
};

}  // namespace booblik::env
