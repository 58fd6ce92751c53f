// What every call that can fail returns: a value or a Failure. No call of this library throws, except
// std::bad_alloc on the calling thread, and none ends the process.
//
// std::expected needs C++23; this small class lets programs from C++17 on use the library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <booblik/export.h>

namespace booblik {

// By what a caller may do about it.
enum class FailureKind {
  unreachable,               // no connection could be made
  lost,                      // the connection broke, or the broker closed it
  timed_out,                 // no answer in time
  bad_answer,                // the broker sent what the protocol does not allow
  refused,                   // the broker answered with an error code: Failure::broker_error
  offset_out_of_range,       // the records at the position are gone: retention took them
  log_reset,                 // the log ends below the position: it was reset, or lost its end
  record_exceeds_max_bytes,  // the next record is larger than max_bytes: no retry can ever bring it
  corrupt_record,            // the next record's stored bytes are not what was written
  invalid,                   // the caller's own arguments
  topic_changed,             // after a reconnect the topic has another number of partitions
  buffer_full,               // no room for the record now: nothing was taken over
  closed,                    // closed or interrupted by the caller
  storage,                   // a local file could not be read or written
  no_resources,              // the system has no thread, descriptor or memory left for it
};

// The error codes of the protocol.
enum class BrokerError : std::int16_t {
  none = 0,
  unknown_topic_or_partition = 1,
  offset_out_of_range = 2,
  record_too_large = 3,
  unsupported_version = 4,
  corrupt_request = 5,
};

// "log_reset"; "OFFSET_OUT_OF_RANGE", as the protocol spells it. Static text.
[[nodiscard]] BOOBLIK_API std::string_view name_of(FailureKind kind) noexcept;
[[nodiscard]] BOOBLIK_API std::string_view name_of(BrokerError error) noexcept;

struct Failure {
  FailureKind kind = FailureKind::closed;
  std::string message;                           // a sentence for a person
  BrokerError broker_error = BrokerError::none;  // of `refused`
  std::int64_t offset = -1;       // of record_exceeds_max_bytes and corrupt_record: which record
  std::int64_t record_bytes = 0;  // of record_exceeds_max_bytes: its payload
  bool maybe_done = false;        // a request was sent whose outcome is unknown: it may have been carried out
};

// Holds a T or a Failure. *outcome and outcome-> need a value, error() needs a failure: ask first.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT: implicit
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT: implicit

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  [[nodiscard]] const Failure& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Failure> state_;
};

template <>
class [[nodiscard]] Outcome<void> {
 public:
  Outcome() = default;
  Outcome(Failure failure) : state_(std::move(failure)) {}  // NOLINT: implicit

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] const Failure& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<std::monostate, Failure> state_;
};

}  // namespace booblik
