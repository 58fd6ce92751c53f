// One connection that speaks frames and nothing more: what it sends and how it takes the answers is the
// workload's.
#pragma once

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "env/environment.h"

namespace booblik::sim {

class RawClient {
 public:
  RawClient(env::Environment& environment, std::uint16_t port) : environment_(environment), port_(port) {}

  [[nodiscard]] Result<void> connect(Deadline deadline);
  [[nodiscard]] Result<void> send(Bytes bytes, Deadline deadline);
  // The next frame behind its length field; valid until the next call. `closed` at the peer's end.
  [[nodiscard]] Result<Bytes> receive_frame(Deadline deadline);
  void shutdown_send() { connection_->shutdown_send(); }
  void abort() { connection_->abort(); }
  void close() { connection_.reset(); }

 private:
  env::Environment& environment_;
  std::uint16_t port_;
  std::unique_ptr<env::Connection> connection_;
  std::vector<std::byte> received_;
  std::size_t taken_ = 0;  // of received_, by the frame that was given out last
};

}  // namespace booblik::sim
