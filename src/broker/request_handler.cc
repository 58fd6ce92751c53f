#include "broker/request_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace booblik::broker {
namespace {

template <class... Callables>
struct Overloaded : Callables... {
  using Callables::operator()...;
};

}  // namespace

bool RequestHandler::handle(Bytes frame) {
  while (state_.answers.full() && !state_.closing()) {
    context_.probe.hit("session.pipeline_full");
    state_.pipeline_full = true;
    state_.changed.wait(Deadline::never());
  }
  state_.pipeline_full = false;
  if (state_.closing()) {
    return false;
  }
  const auto decoded = wire::decode_request(frame);
  if (!decoded) {
    const wire::Refusal& refusal = decoded.error();
    if (refusal.answered) {
      refuse(refusal.correlation_id, refusal.error);
    } else {
      note_silent_refusal(refusal.reason);
    }
    return true;
  }
  const std::int32_t id = decoded->correlation_id;
  return std::visit(Overloaded{
                        [&](const wire::ProduceRequest& request) { return produce(id, request); },
                        [&](const wire::FetchRequest& request) {
                          fetch(id, request);
                          return true;
                        },
                        [&](const wire::MetadataRequest& request) {
                          metadata(id, request);
                          return true;
                        },
                    },
                    decoded->body);
}

bool RequestHandler::produce(std::int32_t correlation_id, const wire::ProduceRequest& request) {
  const Partition* partition = context_.topics.find(request.topic, request.partition);
  if (partition == nullptr) {
    refuse_produce(correlation_id, request, wire::WireError::unknown_topic_or_partition,
                   "unknown topic or partition");
    return true;
  }
  const std::int64_t largest = std::int64_t{request.records.largest_payload()} + wire::kRecordHeaderBytes;
  if (largest > partition->log.segment_capacity_bytes() ||
      request.records.largest_payload() > wire::kMaxRecordPayloadBytes) {
    refuse_produce(correlation_id, request, wire::WireError::record_too_large, "record too large");
    return true;
  }
  while (!partition->writer->has_room()) {
    context_.probe.hit("session.waits_for_staging_room");
    env::wait_any(context_.scheduler, partition->writer->room_event(), state_.changed, Deadline::never());
    if (state_.closing()) {
      return false;
    }
  }
  auto& last = last_fate(*partition);
  if (last != nullptr && last->state == log::GroupFate::State::failed) {
    // Its answer will end the connection. Until then nothing may be stored that was sent behind it.
    context_.probe.hit("session.sent_behind_a_failure");
    return false;
  }
  const bool forced = request.acks == wire::AckPolicy::forced;
  auto ticket = partition->writer->stage(request.records, request.records.count(),
                                         request.records.bytes_on_disk(), forced);
  last = ticket.fate;
  ++context_.metrics.batches_in;
  context_.metrics.records_in += request.records.count();
  context_.metrics.bytes_in += request.records.bytes_on_disk();
  push(ProduceAnswer{correlation_id, request.acks == wire::AckPolicy::none, partition, std::move(ticket)});
  return true;
}

void RequestHandler::fetch(std::int32_t correlation_id, const wire::FetchRequest& request) {
  const Partition* partition = context_.topics.find(request.topic, request.partition);
  if (partition == nullptr) {
    refuse(correlation_id, wire::WireError::unknown_topic_or_partition);
    return;
  }
  push(FetchAnswer{correlation_id, partition, request});
}

void RequestHandler::metadata(std::int32_t correlation_id, const wire::MetadataRequest& request) {
  MetadataAnswer answer{correlation_id, request.topic_count == 0, {}};
  bool all_known = true;
  // Repetitions are dropped as they pile up, so that memory follows the topics that exist, not the names that
  // are asked.
  const std::size_t compact_at = 2 * context_.topics.all().size() + 16;
  const auto compact = [&answer] {
    std::ranges::sort(answer.topics, std::less<>(),
                      [](const Topic* topic) -> const std::string& { return topic->name; });
    const auto repeated = std::ranges::unique(answer.topics);
    answer.topics.erase(repeated.begin(), repeated.end());
  };
  request.for_each_name([&](std::string_view name) {
    const Topic* topic = context_.topics.find(name);
    all_known = topic != nullptr;
    if (all_known) {
      answer.topics.push_back(topic);
      if (answer.topics.size() >= compact_at) {
        compact();
      }
    }
    return all_known;
  });
  if (!all_known) {
    refuse(correlation_id, wire::WireError::unknown_topic_or_partition);
    return;
  }
  compact();
  answer.topics.shrink_to_fit();
  push(std::move(answer));
}

void RequestHandler::refuse_produce(std::int32_t correlation_id, const wire::ProduceRequest& request,
                                    wire::WireError error, const char* reason) {
  if (request.acks == wire::AckPolicy::none) {
    note_silent_refusal(reason);
  } else {
    refuse(correlation_id, error);
  }
}

void RequestHandler::refuse(std::int32_t correlation_id, wire::WireError error) {
  context_.metrics.count_refusal(error);
  push(ErrorAnswer{correlation_id, error});
}

void RequestHandler::note_silent_refusal(const char* reason) {
  context_.probe.hit("session.silent_refusal");
  ++context_.metrics.silent_refusals;
  context_.log.warn("refused without an answer",
                    fmt::format("refused a PRODUCE with ack policy NONE from {}: {}; its client is not told",
                                state_.connection->peer(), reason));
}

std::shared_ptr<const log::GroupFate>& RequestHandler::last_fate(const Partition& partition) {
  const auto found =
      std::ranges::find(last_fates_, &partition, [](const auto& entry) { return entry.first; });
  return found != last_fates_.end() ? found->second : last_fates_.emplace_back(&partition, nullptr).second;
}

void RequestHandler::push(Answer answer) {
  const bool was_empty = state_.answers.empty();
  state_.answers.push(std::move(answer));
  if (was_empty) {
    state_.changed.notify_all();
  }
}

}  // namespace booblik::broker
