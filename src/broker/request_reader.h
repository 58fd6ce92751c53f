// The receiving half of a connection: bytes to frames, within the limits on time and memory.
#pragma once

#include <optional>

#include "broker/request_handler.h"
#include "broker/session_state.h"

namespace booblik::broker {

class RequestReader {
 public:
  explicit RequestReader(SessionState& state) : state_(state), context_(state.context), handler_(state) {}

  // Takes requests until the peer has finished sending, breaks the rules of framing, or the connection is
  // closing. Parks.
  void run();

  // Throws away what still comes until the peer has finished or the stream breaks. Closing with unread bytes
  // would reset the stream, and a reset may overtake the last answers. Parks.
  void discard_rest();

 private:
  enum class Next { go_on, end };

  Next receive();
  Next handle_frames();
  Next find_room();
  void cut_bad_length(std::int32_t length);
  void cut_slow_frame();

  SessionState& state_;
  Context& context_;
  RequestHandler handler_;
  ReceiveBuffer buffer_;
  std::size_t frame_bytes_ = 0;  // of the started frame, length field included; 0 when not known yet
  std::optional<Instant> frame_started_at_;  // set while a started frame is incomplete
  bool last_receive_filled_ = false;
};

}  // namespace booblik::broker
