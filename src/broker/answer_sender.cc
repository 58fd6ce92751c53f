#include "broker/answer_sender.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"

namespace booblik::broker {

bool AnswerSender::make_room(std::size_t bytes) {
  BOOBLIK_CHECK(bytes <= kRoomBytes, "an answer's fixed part is small");
  if (used_ + bytes > kRoomBytes && !flush()) {
    return false;
  }
  buffer_.resize(kRoomBytes);
  return true;
}

bool AnswerSender::flush() {
  std::size_t sent = 0;
  while (sent < used_) {
    const std::array<Bytes, 1> rest{Bytes(buffer_.data() + sent, used_ - sent)};
    const auto more = state_.connection->send(rest, context_.after(context_.options.send_timeout));
    if (!more) {
      return failed(more.error());
    }
    sent += *more;
  }
  used_ = 0;
  return true;
}

bool AnswerSender::send(const log::Slice& slice) {
  if (!flush()) {
    return false;
  }
  Position position = slice.position;
  std::int64_t rest = slice.bytes;
  while (rest > 0) {
    const auto sent = state_.connection->send_file(*slice.file, position, rest,
                                                   context_.after(context_.options.send_timeout));
    if (!sent) {
      return failed(sent.error());
    }
    position += *sent;
    rest -= *sent;
    context_.metrics.bytes_out += *sent;
    // A consumer that takes gigabytes gives the others their turn after each piece.
    context_.scheduler.yield();
  }
  return true;
}

bool AnswerSender::failed(const Error& error) {
  if (error.code == ErrorCode::timed_out) {
    context_.probe.hit("session.blocked_send");
    state_.cut("blocked send", fmt::format("the peer took no byte of its answers for {} ms",
                                           context_.options.send_timeout.count()));
  } else if (error.code != ErrorCode::reset) {
    context_.probe.hit("session.failed_send");
    state_.cut("failed send", error.message);
  }
  // The answer is incomplete, so the peer must not take what it has for the whole.
  state_.break_off();
  return false;
}

}  // namespace booblik::broker
