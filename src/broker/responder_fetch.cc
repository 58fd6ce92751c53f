// FETCH: hold, then open the slice, then send. The segment is pinned only from the opening on.
#include <fmt/format.h>

#include <algorithm>

#include "broker/responder.h"
#include "wire/response.h"

namespace booblik::broker {

Responder::Next Responder::answer(FetchAnswer& answer) {
  ++context_.metrics.fetches;
  if (hold(answer) == Next::end) {
    return Next::end;
  }
  return serve(answer);
}

Responder::Next Responder::hold(const FetchAnswer& answer) {
  const bool may_wait = answer.request.max_wait.count() > 0;
  if (!may_wait || must_be_answered() || can_be_answered(answer)) {
    return Next::go_on;
  }
  // Beyond the limit a FETCH is answered as if its wait had elapsed, which every client understands.
  if (context_.metrics.held_fetches >= context_.options.held_fetches_max) {
    context_.probe.hit("session.too_many_held_fetches");
    return Next::go_on;
  }
  context_.probe.hit("session.fetch_held");
  const Deadline deadline = context_.after(answer.request.max_wait);
  if (!sender_.flush()) {
    return Next::end;
  }
  ++context_.metrics.held_fetches;
  env::Event& progress = answer.partition->writer->progress();
  while (!must_be_answered() && !can_be_answered(answer)) {
    const auto wake = env::wait_any(context_.scheduler, progress, state_.changed, deadline);
    if (wake == env::Wake::deadline) {
      context_.probe.hit("session.held_fetch_timed_out");
      break;
    }
  }
  --context_.metrics.held_fetches;
  note_end_of_hold(answer);
  return state_.broken ? Next::end : Next::go_on;
}

void Responder::note_end_of_hold(const FetchAnswer& answer) {
  const log::PartitionLog& log = answer.partition->log;
  if (state_.broken) {
    context_.probe.hit("session.held_fetch_lost_its_peer");
  } else if (state_.shutting_down) {
    context_.probe.hit("session.held_fetch_let_go_by_shutdown");
  } else if (answer.request.offset < log.start_offset()) {
    context_.probe.hit("session.retention_passed_held_fetch");
  } else if (answer.request.offset < log.end_offset()) {
    context_.probe.hit("session.held_fetch_woken");
  }
}

bool Responder::must_be_answered() const {
  return state_.broken || state_.shutting_down;
}

bool Responder::can_be_answered(const FetchAnswer& answer) {
  const log::PartitionLog& log = answer.partition->log;
  const wire::FetchRequest& request = answer.request;
  if (request.offset < log.start_offset() || request.offset > log.end_offset()) {
    return true;  // out of range
  }
  if (request.offset == log.end_offset()) {
    return false;
  }
  if (request.min_bytes <= 1) {
    return true;
  }
  // May park for a cold index; the loop around this looks again afterwards, so nothing is missed.
  const auto available = answer.partition->log.available(request.offset);
  if (!available) {
    return true;  // serve() meets the same error and tells it
  }
  const std::int64_t servable = std::min<std::int64_t>(available->bytes_ever, wire::kMaxFetchPayloadBytes);
  return available->bytes_now >= std::min<std::int64_t>(request.min_bytes, servable);
}

Responder::Next Responder::serve(const FetchAnswer& answer) {
  const wire::FetchRequest& request = answer.request;
  const std::int64_t bytes_max = std::min(request.max_bytes, wire::kMaxFetchPayloadBytes);
  const auto slice = answer.partition->log.read(request.offset, bytes_max);
  if (!slice && slice.error().code == ErrorCode::offset_out_of_range) {
    context_.metrics.count_refusal(wire::WireError::offset_out_of_range);
    return put_error(answer.correlation_id, wire::WireError::offset_out_of_range);
  }
  if (!slice) {
    context_.probe.hit("session.read_failed");
    return give_up("failed read", fmt::format("a FETCH of {} at offset {} failed: {}",
                                              answer.partition->log.id().to_string(), request.offset.value(),
                                              slice.error().message));
  }
  if (!sender_.make_room(wire::kFetchResponseHeaderBytes)) {
    return Next::end;
  }
  sender_.put(wire::put_fetch_response_header(sender_.room(), answer.correlation_id, slice->high_watermark,
                                              static_cast<std::int32_t>(slice->bytes)));
  return slice->bytes == 0 || sender_.send(*slice) ? Next::go_on : Next::end;
}

}  // namespace booblik::broker
