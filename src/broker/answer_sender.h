// Bytes on their way to one peer. Small answers are collected and leave together; a FETCH payload goes from
// the file to the socket.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "broker/session_state.h"
#include "log/partition_log.h"

namespace booblik::broker {

class AnswerSender {
 public:
  explicit AnswerSender(SessionState& state) : state_(state), context_(state.context) {}

  // The calls return false when the stream is broken, or was cut because the peer has taken nothing for the
  // send timeout. They may park.

  // Room for `bytes` (at most kRoomBytes) more; sends what is collected if it must. put() then takes what was
  // written there.
  [[nodiscard]] bool make_room(std::size_t bytes);
  [[nodiscard]] std::byte* room() { return buffer_.data() + used_; }
  void put(std::size_t bytes) { used_ += bytes; }

  // Sends all that is collected.
  [[nodiscard]] bool flush();

  // Sends `slice` behind what is collected.
  [[nodiscard]] bool send(const log::Slice& slice);

  static constexpr std::size_t kRoomBytes = 16 * 1024;

 private:
  bool failed(const Error& error);

  SessionState& state_;
  Context& context_;
  std::vector<std::byte> buffer_;  // allocated when there is something to say
  std::size_t used_ = 0;
};

}  // namespace booblik::broker
