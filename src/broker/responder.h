// The sending half of a connection: carries answers out in the order of the requests.
#pragma once

#include "broker/answer_sender.h"
#include "broker/session_state.h"

namespace booblik::broker {

class Responder {
 public:
  explicit Responder(SessionState& state) : state_(state), context_(state.context), sender_(state) {}

  // Answers until the reader has no more requests and all are answered, the stream breaks, or an answer
  // cannot be given (storage failed: the answers before it are sent, then the stream ends). Parks.
  void run();

 private:
  enum class Next { go_on, end };

  Next answer(ErrorAnswer& answer);
  Next answer(ProduceAnswer& answer);
  Next answer(FetchAnswer& answer);
  Next answer(MetadataAnswer& answer);
  Next put_error(std::int32_t correlation_id, wire::WireError error);

  // Waits until the FETCH can be answered, which includes that it is too late, the peer is gone, or the
  // broker stops.
  Next hold(const FetchAnswer& answer);
  [[nodiscard]] bool can_be_answered(const FetchAnswer& answer);
  // Nothing to hold for: answer at once, whatever there is.
  [[nodiscard]] bool must_be_answered() const;
  void note_end_of_hold(const FetchAnswer& answer);
  Next serve(const FetchAnswer& answer);
  Next put_topic(const Topic& topic);

  // What has no error code is told by closing, after the answers before it.
  Next give_up(std::string_view kind, std::string_view why);

  SessionState& state_;
  Context& context_;
  AnswerSender sender_;
};

}  // namespace booblik::broker
