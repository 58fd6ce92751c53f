// What can go wrong for a client, by what a caller may do about it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "wire/protocol.h"

namespace booblik::client {

enum class FailureKind {
  unreachable,               // no connection could be made
  lost,                      // the connection broke, or the broker closed it
  timed_out,                 // no answer in time
  bad_answer,                // the broker sent what the protocol does not allow
  refused,                   // the broker answered with an error code
  offset_out_of_range,       // the records at the position are gone: retention took them
  log_reset,                 // the log ends below the position: it was reset, or lost its end
  record_exceeds_max_bytes,  // the next record is larger than max bytes: no retry can ever bring it
  corrupt_record,            // the next record's stored bytes are not what was written
  invalid,                   // the caller's own arguments
  closed,                    // closed, interrupted or given up by the caller
  topic_changed,             // after a reconnect the topic has another number of partitions
};

struct Failure {
  FailureKind kind;
  std::string message;                     // a sentence for a person
  std::optional<wire::WireError> refusal;  // of `refused`
  std::optional<Offset> offset;            // of record_exceeds_max_bytes and corrupt_record: which record
  std::int64_t record_bytes = 0;           // of record_exceeds_max_bytes: its payload
};

template <class T>
using Outcome = std::expected<T, Failure>;

[[nodiscard]] std::unexpected<Failure> failed(FailureKind kind, std::string message);

// What a call of the environment's network said, while doing `what`.
[[nodiscard]] std::unexpected<Failure> failed(std::string_view what, const Error& error);

// The broker's error code, as the answer to `what`.
[[nodiscard]] std::unexpected<Failure> refused(std::string_view what, wire::WireError error);

// The refusal that the broker would answer, without asking it: the topic has partitions 0 to count - 1.
[[nodiscard]] std::unexpected<Failure> no_such_partition(std::string_view topic, std::size_t count,
                                                         PartitionId asked);

// "OFFSET_OUT_OF_RANGE", as docs/protocol.md spells it.
[[nodiscard]] std::string_view name_of(wire::WireError error);

}  // namespace booblik::client
