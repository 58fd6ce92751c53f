// The network as one process sees it: env::Network on the Fabric.
#pragma once

#include <memory>
#include <string>

#include "env/network.h"
#include "sim/fabric.h"
#include "sim/process.h"

namespace booblik::sim {

class SimConnection final : public env::Connection {
 public:
  // Owns the socket: one open side of a link.
  SimConnection(Core& core, Fabric& fabric, LinkNumber link, int side);
  ~SimConnection() override;

  Result<void> wait_readable(Deadline deadline) override;
  Result<std::size_t> receive(MutableBytes buffer, Deadline deadline) override;
  Result<std::size_t> send(std::span<const Bytes> parts, Deadline deadline) override;
  Result<std::int64_t> send_file(env::File& file, Position position, std::int64_t length,
                                 Deadline deadline) override;
  void shutdown_send() override;
  void stop_receiving() override;
  void abort() override;
  void on_reset(std::move_only_function<void()> callback) override;
  [[nodiscard]] const std::string& peer() const override { return peer_; }

 private:
  [[nodiscard]] Fabric::Link& link() const { return fabric_.link(link_); }
  [[nodiscard]] Fabric::Side& mine() const { return link().sides[side_]; }
  [[nodiscard]] Stream& incoming() const { return link().streams[1 - side_]; }
  [[nodiscard]] Result<std::size_t> receive_some(MutableBytes buffer, Deadline deadline);
  // Makes the call, and a slice of the trace from it.
  template <class Call>
  auto traced(const char* what, Call call) -> decltype(call());
  // Waits until `send_some`, which returns how many bytes it sent, sends some.
  template <class Send>
  [[nodiscard]] auto send_when_possible(Send send_some, Deadline deadline) -> Result<decltype(send_some())>;

  Core& core_;
  Fabric& fabric_;
  LinkNumber link_;
  int side_;
  std::string peer_;
};

class SimListener final : public env::Listener {
 public:
  SimListener(Core& core, Fabric& fabric, Process& process, ListenerNumber number);
  ~SimListener() override { close(); }

  Result<std::unique_ptr<env::Connection>> accept(Deadline deadline) override;
  void close() override;
  [[nodiscard]] const std::string& address() const override { return address_; }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  Core& core_;
  Fabric& fabric_;
  Process& process_;
  ListenerNumber number_;
  std::uint16_t port_;
  std::string address_;
};

class SimNetwork final : public env::Network {
 public:
  // All of it is borrowed.
  SimNetwork(Core& core, Fabric& fabric, Process& process)
      : core_(core), fabric_(fabric), process_(process) {}

  Result<std::unique_ptr<env::Listener>> listen(const std::string& host, std::uint16_t port) override;
  Result<std::unique_ptr<env::Connection>> connect(const std::string& host, std::uint16_t port,
                                                   Deadline deadline) override;

 private:
  Result<std::unique_ptr<env::Connection>> connect_in_time(const std::string& host, std::uint16_t port,
                                                           Deadline deadline);

  Core& core_;
  Fabric& fabric_;
  Process& process_;
};

}  // namespace booblik::sim
