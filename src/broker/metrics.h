// What the broker counts. Touched by one reactor only.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "wire/protocol.h"

namespace booblik::broker {

struct Metrics {
  // Since the start of the broker.
  std::int64_t batches_in = 0;
  std::int64_t records_in = 0;
  std::int64_t bytes_in = 0;  // of record payloads and headers, as on disk
  std::int64_t fetches = 0;
  std::int64_t bytes_out = 0;  // of FETCH payloads
  std::int64_t metadata_requests = 0;
  std::array<std::int64_t, 6> refusals{};  // by WireError
  std::int64_t silent_refusals = 0;        // of PRODUCE with ackPolicy NONE
  std::int64_t failed_appends = 0;         // batches whose connection was closed because storage failed
  std::int64_t connections_accepted = 0;
  std::int64_t connections_refused = 0;  // over the limit
  std::int64_t connections_cut = 0;      // closed by us, for a reason that is in the log

  // Now.
  std::int64_t connections = 0;
  std::int64_t held_fetches = 0;

  void count_refusal(wire::WireError error) { ++refusals.at(static_cast<std::size_t>(error)); }
};

// One line about what happened between two readings, `elapsed` apart.
[[nodiscard]] std::string rate_line(const Metrics& before, const Metrics& after, Duration elapsed);

}  // namespace booblik::broker
