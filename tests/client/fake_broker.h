// A broker in a few lines, on memory, for tests of clients: right by default, and wrong where a test says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/address.h"
#include "client/roles.h"
#include "env/network.h"
#include "env/sync.h"
#include "wire/request.h"

namespace booblik::client {

class FakeBroker {
 public:
  // What to do with one request instead of what is right.
  struct Fault {
    std::vector<std::byte> bytes;  // sent as they are
    enum class Then { go_on, close, reset, hang } then = Then::go_on;
  };
  struct Partition {
    Offset log_start;
    std::vector<std::byte> log;          // records as on disk, from log_start on
    std::vector<std::size_t> positions;  // of each record

    void append(Bytes payload);
    [[nodiscard]] Offset end() const { return log_start + static_cast<std::int64_t>(positions.size()); }
  };

  // `host` is what the network calls this machine.
  explicit FakeBroker(Roles roles, std::string host = "virtual");
  // Serves nobody any more. May park.
  ~FakeBroker();
  FakeBroker(const FakeBroker&) = delete;
  FakeBroker& operator=(const FakeBroker&) = delete;

  [[nodiscard]] Address address() const { return {host_, port_}; }

  // As the end of a process and the start of another: connections break, the logs stay. Each may park.
  void stop();
  void start();

  Partition& add(const std::string& topic, std::int32_t partition);
  Partition& at(const std::string& topic, std::int32_t partition) { return topics_.at(topic).at(partition); }

  // Wakes held fetches; append does not.
  void appended() { changed_.notify_all(); }

  // Asked for each request, `number` counting from 0 over all connections. nullopt: answer rightly.
  std::function<std::optional<Fault>(const wire::Request& request, int number)> fault;

  int connections = 0;
  int requests = 0;
  int produces = 0;

 private:
  void serve(env::Connection& connection);
  bool handle(env::Connection& connection, Bytes frame);
  std::vector<std::byte> answer(std::int32_t id, const wire::ProduceRequest& request);
  std::vector<std::byte> answer(std::int32_t id, const wire::FetchRequest& request);
  std::vector<std::byte> answer(std::int32_t id, const wire::MetadataRequest& request);
  Partition* find(std::string_view topic, PartitionId partition);

  Roles roles_;
  std::string host_;
  std::uint16_t port_ = 0;
  std::unique_ptr<env::Listener> listener_;
  std::map<std::string, std::map<std::int32_t, Partition>> topics_;
  std::vector<std::shared_ptr<env::Connection>> connections_;
  env::Event changed_;
  env::WaitGroup fibers_;
  bool stopping_ = true;
};

// One whole error frame.
[[nodiscard]] std::vector<std::byte> error_frame(std::int32_t correlation_id, wire::WireError error);

}  // namespace booblik::client
