// TCP over IPv4 and IPv6.
#pragma once

#include <string>
#include <vector>

#include "env/network.h"
#include "env/posix/connection.h"
#include "env/posix/socket_address.h"
#include "env/posix/worker_pool.h"

namespace booblik::env {

class PosixNetwork final : public Network {
 public:
  PosixNetwork(SystemCalls& system, Reactor& reactor, WorkerPool& workers, DescriptorBudget& budget,
               int backlog)
      : lingering_(system, reactor),
        services_{system, reactor, budget, lingering_},
        workers_(workers),
        backlog_(backlog) {}

  // A name stands for the first of its addresses that can be listened on.
  [[nodiscard]] Result<std::unique_ptr<Listener>> listen(const std::string& host,
                                                         std::uint16_t port) override;

  // Tries all addresses of a name, one after another, within the one deadline.
  [[nodiscard]] Result<std::unique_ptr<Connection>> connect(const std::string& host, std::uint16_t port,
                                                            Deadline deadline) override;

 private:
  struct OpenSocket {
    Descriptor descriptor;
    DescriptorBudget::Claim claim;
  };

  // Name servers are asked by a worker.
  [[nodiscard]] Result<std::vector<SocketAddress>> find(const std::string& host, std::uint16_t port);
  [[nodiscard]] Result<OpenSocket> open_socket(int family);
  [[nodiscard]] Result<std::unique_ptr<Listener>> listen_on(const SocketAddress& address);

  LingeringClose lingering_;
  SocketServices services_;
  WorkerPool& workers_;
  int backlog_;
};

}  // namespace booblik::env
