#include "client/failure.h"

#include <fmt/format.h>

#include <utility>

namespace booblik::client {

std::unexpected<Failure> failed(FailureKind kind, std::string message) {
  return std::unexpected(Failure{.kind = kind, .message = std::move(message), .refusal = {}, .offset = {}});
}

std::unexpected<Failure> failed(std::string_view what, const Error& error) {
  FailureKind kind = FailureKind::lost;
  switch (error.code) {
    case ErrorCode::timed_out:
      kind = FailureKind::timed_out;
      break;
    case ErrorCode::unreachable:
    case ErrorCode::too_many_files:
      kind = FailureKind::unreachable;
      break;
    default:
      break;
  }
  return failed(kind, fmt::format("{}: {}", what, error.message));
}

std::unexpected<Failure> refused(std::string_view what, wire::WireError error) {
  auto failure =
      failed(FailureKind::refused, fmt::format("{}: the broker answered {}", what, name_of(error)));
  failure.error().refusal = error;
  return failure;
}

std::unexpected<Failure> no_such_partition(std::string_view topic, std::size_t count, PartitionId asked) {
  auto failure = failed(FailureKind::refused,
                        fmt::format("topic '{}' has {} partition(s), numbered from 0; there is no {}", topic,
                                    count, asked.value()));
  failure.error().refusal = wire::WireError::unknown_topic_or_partition;
  return failure;
}

std::string_view name_of(wire::WireError error) {
  switch (error) {
    case wire::WireError::none:
      return "NONE";
    case wire::WireError::unknown_topic_or_partition:
      return "UNKNOWN_TOPIC_OR_PARTITION";
    case wire::WireError::offset_out_of_range:
      return "OFFSET_OUT_OF_RANGE";
    case wire::WireError::record_too_large:
      return "RECORD_TOO_LARGE";
    case wire::WireError::unsupported_version:
      return "UNSUPPORTED_VERSION";
    case wire::WireError::corrupt_request:
      return "CORRUPT_REQUEST";
  }
  return "an unknown error";
}

}  // namespace booblik::client
