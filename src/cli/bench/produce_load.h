// A load of PRODUCE requests. Open loop: requests leave on a schedule whatever the broker does, and a latency
// counts from when its request should have left, so that a stall is charged to every request that it delays.
// Without a rate: as many as a window of unanswered requests lets through, which measures throughput.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cli/bench/latencies.h"
#include "env/environment.h"
#include "wire/protocol.h"

namespace booblik::cli {

struct ProduceLoad {
  std::string host;
  std::uint16_t port = 0;
  std::string topic;
  std::int32_t partitions = 1;  // connection i writes to partition i modulo this
  std::int64_t connections = 8;
  std::int64_t batch_records = 10;
  std::int64_t record_bytes = 128;
  wire::AckPolicy acks = wire::AckPolicy::written;  // not none: nothing would be measured
  std::int64_t depth = 64;         // unanswered requests of a connection; no bound when there is a rate
  double requests_per_second = 0;  // over all connections; 0: no schedule
  Duration warm_up = std::chrono::seconds(1);  // not counted
  Duration duration = std::chrono::seconds(5);
};

struct ProduceReport {
  std::int64_t requests = 0;
  Duration elapsed{0};
  Latencies latencies;
};

// Errors: unreachable, reset, timed_out, invalid (the broker answered with an error code, which the message
// names). Parks.
[[nodiscard]] Result<ProduceReport> run_produce_load(env::Environment& environment, const ProduceLoad& load);

}  // namespace booblik::cli
