#include "client/connection.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace booblik::client {

Outcome<std::unique_ptr<Connection>> Connection::open(env::Network& network, const Address& broker,
                                                      Deadline deadline) {
  auto stream = network.connect(broker.host, broker.port, deadline);
  if (!stream) {
    auto failure = failed(fmt::format("no connection to {}", broker.to_string()), stream.error());
    if (failure.error().kind == FailureKind::lost) {
      failure.error().kind = FailureKind::unreachable;
    }
    return failure;
  }
  return std::unique_ptr<Connection>(new Connection(std::move(*stream), broker));
}

Outcome<void> Connection::send(Bytes frame, std::optional<std::int32_t> answered_as, Deadline deadline) {
  if (send_failure_) {
    return std::unexpected(*send_failure_);
  }
  if (answered_as) {
    outstanding_.push_back(*answered_as);
  }
  while (!frame.empty()) {
    const auto sent = stream_->send({&frame, 1}, deadline);
    if (!sent) {
      auto failure = failed(fmt::format("sending to {}", broker_), sent.error());
      send_failure_ = failure.error();
      return failure;
    }
    bytes_sent_ += *sent;
    frame = frame.subspan(*sent);
  }
  return {};
}

Outcome<Connection::Answer> Connection::receive(Deadline deadline) {
  BOOBLIK_CHECK(!outstanding_.empty(), "an answer is only waited for when one is outstanding");
  if (receive_failure_) {
    return std::unexpected(*receive_failure_);
  }
  if (std::exchange(holds_answer_, false)) {
    received_.drop_first();
  }
  while (true) {
    switch (received_.first().status) {
      case wire::FrameStatus::complete:
        return take_first();
      case wire::FrameStatus::bad_length:
        return give_up(failed(FailureKind::bad_answer,
                              fmt::format("{} announced an answer of {} bytes; 1 to {} are allowed", broker_,
                                          received_.first().length, wire::kMaxFrameBytes)));
      case wire::FrameStatus::incomplete:
        break;
    }
    if (auto more = receive_more(deadline); !more) {
      return std::unexpected(std::move(more.error()));
    }
  }
}

Outcome<void> Connection::check_idle() {
  if (receive_failure_ || send_failure_) {
    return std::unexpected(receive_failure_ ? *receive_failure_ : *send_failure_);
  }
  if (std::exchange(holds_answer_, false)) {
    received_.drop_first();
  }
  if (received_.empty()) {
    const auto more = receive_more(Deadline::immediately());
    if (!more && more.error().kind == FailureKind::timed_out) {
      return {};
    }
    if (!more) {
      return std::unexpected(more.error());
    }
  }
  return give_up(
      failed(FailureKind::bad_answer, fmt::format("{} sent an answer that nobody asked for", broker_)));
}

Outcome<void> Connection::receive_more(Deadline deadline) {
  const auto count = stream_->receive(received_.space(), deadline);
  if (!count && count.error().code == ErrorCode::timed_out) {
    return failed(FailureKind::timed_out, fmt::format("{} did not answer in time", broker_));
  }
  if (!count) {
    return give_up(failed(fmt::format("receiving from {}", broker_), count.error()));
  }
  if (*count == 0) {
    const char* where = received_.empty() ? "" : " in the middle of an answer";
    return give_up(failed(FailureKind::lost, fmt::format("{} closed the connection{}, {} answer(s) missing",
                                                         broker_, where, outstanding_.size())));
  }
  received_.filled(*count);
  return {};
}

Outcome<Connection::Answer> Connection::take_first() {
  const Bytes frame = received_.first().frame;
  const auto header = wire::decode_response_header(frame);
  if (!header) {
    return give_up(failed(FailureKind::bad_answer, fmt::format("{}: {}", broker_, header.error().reason)));
  }
  if (header->correlation_id != outstanding_.front()) {
    return give_up(
        failed(FailureKind::bad_answer, fmt::format("{} answered with correlation id {}, but {} is next",
                                                    broker_, header->correlation_id, outstanding_.front())));
  }
  outstanding_.pop_front();
  holds_answer_ = true;
  return Answer{header->correlation_id, header->error, frame};
}

std::unexpected<Failure> Connection::give_up(std::unexpected<Failure> failure) {
  receive_failure_ = failure.error();
  if (!send_failure_) {
    send_failure_ = failure.error();
  }
  return failure;
}

Outcome<Connection::Answer> Connection::call(Bytes frame, std::int32_t correlation_id, Deadline deadline) {
  BOOBLIK_CHECK(outstanding_.empty() || send_failure_, "a call waits for its own answer only");
  if (auto sent = send(frame, correlation_id, deadline); !sent) {
    return std::unexpected(std::move(sent.error()));
  }
  auto answer = receive(deadline);
  if (!answer && answer.error().kind == FailureKind::timed_out) {
    return give_up(std::unexpected(std::move(answer.error())));
  }
  return answer;
}

}  // namespace booblik::client
