// A client of the broker under test: plain blocking sockets, so that no fault reaches it. It remembers what
// it was promised.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "fault_table.h"
#include "wire/protocol.h"

namespace booblik::kernel {

enum class Reply { answered, closed, nothing };

struct Promises {
  // By partition and offset: acknowledged records.
  std::map<std::pair<std::int32_t, std::int64_t>, std::string> acked;
};

class Client {
 public:
  Client(std::uint16_t port, std::chrono::milliseconds patience, Promises& promises)
      : port_(port), patience_(patience), promises_(promises) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(); }

  // Each connects first if it has to. A wrong answer is a failure of the test.
  Reply produce(std::int32_t partition, wire::AckPolicy acks);
  Reply fetch(std::int32_t partition);
  Reply metadata();

  // Of the partition: what the last answer to `metadata` said.
  [[nodiscard]] std::int64_t log_start(std::int32_t partition) const { return starts_.at(partition); }
  [[nodiscard]] std::int64_t log_end(std::int32_t partition) const { return ends_.at(partition); }

  // Every record that is stored, by offset; `metadata` was answered before.
  Reply read_all(std::int32_t partition, std::map<std::int64_t, std::string>& into);

  void close();

 private:
  Reply exchange(const std::vector<std::byte>& request, bool is_answered);
  Reply send(const std::vector<std::byte>& request);
  Reply receive();
  [[nodiscard]] bool connect();

  std::uint16_t port_;
  std::chrono::milliseconds patience_;
  Promises& promises_;
  int socket_ = -1;
  std::int32_t next_id_ = 1;
  std::vector<std::byte> frame_;  // the last answer, and its error
  wire::WireError error_ = wire::WireError::none;
  std::map<std::int32_t, std::int64_t> starts_;
  std::map<std::int32_t, std::int64_t> ends_;
};

// All kinds of requests, again and again; then whether each still works. `waiting` when something was not
// answered within the patience.
[[nodiscard]] Worst use_broker(std::uint16_t port, std::chrono::milliseconds patience, Promises& promises);

// That a broker without faults serves all that was promised, densely, but for what retention took.
void expect_kept(std::uint16_t port, const Promises& promises);

}  // namespace booblik::kernel
