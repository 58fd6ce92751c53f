#include "library/translate.h"

#include <fmt/format.h>

#include <utility>

namespace booblik {

std::string_view name_of(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::unreachable:
      return "unreachable";
    case FailureKind::lost:
      return "lost";
    case FailureKind::timed_out:
      return "timed_out";
    case FailureKind::bad_answer:
      return "bad_answer";
    case FailureKind::refused:
      return "refused";
    case FailureKind::offset_out_of_range:
      return "offset_out_of_range";
    case FailureKind::log_reset:
      return "log_reset";
    case FailureKind::record_exceeds_max_bytes:
      return "record_exceeds_max_bytes";
    case FailureKind::corrupt_record:
      return "corrupt_record";
    case FailureKind::invalid:
      return "invalid";
    case FailureKind::topic_changed:
      return "topic_changed";
    case FailureKind::buffer_full:
      return "buffer_full";
    case FailureKind::closed:
      return "closed";
    case FailureKind::storage:
      return "storage";
    case FailureKind::no_resources:
      return "no_resources";
  }
  return "unknown";
}

std::string_view name_of(BrokerError error) noexcept {
  return client::name_of(static_cast<wire::WireError>(error));
}

namespace library {
namespace {

FailureKind to_public(client::FailureKind kind) {
  switch (kind) {
    case client::FailureKind::unreachable:
      return FailureKind::unreachable;
    case client::FailureKind::lost:
      return FailureKind::lost;
    case client::FailureKind::timed_out:
      return FailureKind::timed_out;
    case client::FailureKind::bad_answer:
      return FailureKind::bad_answer;
    case client::FailureKind::refused:
      return FailureKind::refused;
    case client::FailureKind::offset_out_of_range:
      return FailureKind::offset_out_of_range;
    case client::FailureKind::log_reset:
      return FailureKind::log_reset;
    case client::FailureKind::record_exceeds_max_bytes:
      return FailureKind::record_exceeds_max_bytes;
    case client::FailureKind::corrupt_record:
      return FailureKind::corrupt_record;
    case client::FailureKind::invalid:
      return FailureKind::invalid;
    case client::FailureKind::closed:
      return FailureKind::closed;
    case client::FailureKind::topic_changed:
      return FailureKind::topic_changed;
  }
  return FailureKind::lost;
}

}  // namespace

Failure to_public(const client::Failure& failure) {
  Failure result;
  result.kind = to_public(failure.kind);
  result.message = failure.message;
  if (failure.refusal) {
    result.broker_error = static_cast<BrokerError>(*failure.refusal);
  }
  if (failure.offset) {
    result.offset = failure.offset->value();
  }
  result.record_bytes = failure.record_bytes;
  return result;
}

std::vector<TopicInfo> to_public(const std::vector<wire::TopicMetadata>& topics) {
  std::vector<TopicInfo> result;
  for (const wire::TopicMetadata& topic : topics) {
    TopicInfo& info = result.emplace_back();
    info.name = topic.name;
    for (const wire::PartitionMetadata& partition : topic.partitions) {
      info.partitions.push_back(
          {partition.partition.value(), partition.log_start.value(), partition.high_watermark.value()});
    }
  }
  return result;
}

static_assert(static_cast<int>(ConnectionState::connected) ==
                  static_cast<int>(client::ConnectionState::connected) &&
              static_cast<int>(ConnectionState::reconnecting) ==
                  static_cast<int>(client::ConnectionState::reconnecting) &&
              static_cast<int>(ConnectionState::gave_up) ==
                  static_cast<int>(client::ConnectionState::gave_up));

client::OnConnection on_connection(ReactorThread& thread, OnConnection callback) {
  if (!callback) {
    return {};
  }
  auto shared = std::make_shared<OnConnection>(std::move(callback));
  return [&thread, shared](const client::ConnectionEvent& event) {
    ConnectionEvent copy;
    copy.state = static_cast<ConnectionState>(event.state);
    copy.attempt = event.attempt;
    copy.pause = std::chrono::duration_cast<std::chrono::milliseconds>(event.pause);
    if (event.failure != nullptr) {
      copy.failure = to_public(*event.failure);
    }
    thread.post([shared, copy = std::move(copy)] { (*shared)(copy); });
  };
}

Failure failure(FailureKind kind, std::string message) {
  Failure result;
  result.kind = kind;
  result.message = std::move(message);
  return result;
}

Failure called_from_callback(std::string_view what) {
  return failure(FailureKind::invalid,
                 fmt::format("{} waits for the library's thread, so a callback must not call it", what));
}

Outcome<void> check_timeout(std::string_view name, std::chrono::milliseconds timeout) {
  if (timeout <= timeout.zero() || timeout > std::chrono::hours(24 * 366)) {
    return failure(FailureKind::invalid, fmt::format("{} must be above 0 and at most a year", name));
  }
  return {};
}

}  // namespace library
}  // namespace booblik
