#include "broker/responder.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "wire/response.h"

namespace booblik::broker {

void Responder::run() {
  std::int64_t this_turn = 0;
  while (!state_.broken) {
    if (this_turn == kRequestsPerTurn) {
      this_turn = 0;
      context_.scheduler.yield();
      continue;  // the stream may have broken meanwhile
    }
    if (state_.answers.empty()) {
      if (!sender_.flush()) {
        return;
      }
      if (!state_.answers.empty()) {
        continue;
      }
      if (state_.requests_done) {
        return;
      }
      state_.changed.wait(Deadline::never());
      continue;
    }
    const Next next = std::visit([this](auto& owed) { return answer(owed); }, state_.answers.front());
    if (next == Next::end) {
      return;
    }
    state_.answers.pop();
    ++this_turn;
    if (state_.pipeline_full) {
      state_.changed.notify_all();
    }
  }
}

Responder::Next Responder::answer(ErrorAnswer& answer) {
  return put_error(answer.correlation_id, answer.error);
}

Responder::Next Responder::put_error(std::int32_t correlation_id, wire::WireError error) {
  if (!sender_.make_room(wire::kErrorResponseBytes)) {
    return Next::end;
  }
  sender_.put(wire::put_error_response(sender_.room(), correlation_id, error));
  return Next::go_on;
}

Responder::Next Responder::answer(ProduceAnswer& answer) {
  using Outcome = log::PartitionWriter::Outcome;
  log::PartitionWriter& writer = *answer.partition->writer;
  Outcome outcome = writer.outcome(answer.ticket);
  if (outcome == Outcome::pending && !sender_.flush()) {
    return Next::end;
  }
  while ((outcome = writer.outcome(answer.ticket)) == Outcome::pending) {
    env::wait_any(context_.scheduler, writer.progress(), state_.changed, Deadline::never());
    if (state_.broken) {
      context_.probe.hit("session.ack_lost_its_peer");
      return Next::end;  // nobody is left to be told
    }
  }
  if (outcome == Outcome::failed) {
    context_.probe.hit("session.append_failed");
    ++context_.metrics.failed_appends;
    return give_up("storage failure", fmt::format("a PRODUCE to {} could not be stored",
                                                  answer.partition->log.id().to_string()));
  }
  if (answer.silent) {
    return Next::go_on;
  }
  if (!sender_.make_room(wire::kProduceResponseBytes)) {
    return Next::end;
  }
  sender_.put(wire::put_produce_response(sender_.room(), answer.correlation_id, answer.ticket.base_offset(),
                                         answer.ticket.end_offset()));
  return Next::go_on;
}

Responder::Next Responder::give_up(std::string_view kind, std::string_view why) {
  if (sender_.flush()) {
    state_.cut(kind, why);
  }
  state_.discarding = true;
  state_.changed.notify_all();
  return Next::end;
}

}  // namespace booblik::broker
