// The receiving half of a connection: bytes to frames, within the limits on time and memory.
#pragma once

#include <optional>
#include <string>

#include "broker/receive_buffer.h"
#include "broker/request_handler.h"
#include "broker/session_state.h"

namespace booblik::broker {

class RequestReader {
 public:
  explicit RequestReader(SessionState& state)
      : state_(state),
        context_(state.context),
        handler_(state),
        pace_([this](Duration silence) { cut_stalled_frame(silence); }) {}

  // Takes requests until the peer has finished sending, breaks the rules of framing, or the connection is
  // closing. Parks.
  void run();

  // Throws away what still comes until the peer has finished or the stream breaks. Closing with unread bytes
  // would reset the stream, and a reset may overtake the last answers. Parks.
  void discard_rest();

 private:
  enum class Next { go_on, end };

  Next receive();
  // For more of a started frame: within the frame's time, and at a pace that others can bear.
  Next wait_for_more();
  [[nodiscard]] Result<void> wait_at_pace(Deadline deadline);
  // The peer pauses: a buffer with little in it goes back, for a smaller one.
  void shrink();
  Next find_room();
  Next grow();
  Next handle_frames();

  void cut_bad_length(std::int32_t length);
  void cut_slow_frame();
  // Called by the receive memory while wait_at_pace waits.
  void cut_stalled_frame(Duration silence);
  // What the started frame is, if it is none of ours, or else `why`.
  [[nodiscard]] std::string unless_foreign(std::string why) const;

  SessionState& state_;
  Context& context_;
  RequestHandler handler_;
  ReceiveBuffer buffer_;
  std::size_t frame_bytes_ = 0;  // of the started frame, length field included; 0 when not known yet
  std::optional<Instant> frame_started_at_;    // set while a started frame is incomplete
  std::optional<ReceiveMemory::Place> place_;  // of the started frame
  FramePace pace_;                             // of the started frame
  bool last_receive_filled_ = false;
  bool stalled_ = false;  // cut for that
};

}  // namespace booblik::broker
