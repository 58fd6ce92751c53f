// Consumers that read partitions from their start as fast as they can.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "env/environment.h"

namespace booblik::cli {

struct FetchLoad {
  std::string host;
  std::uint16_t port = 0;
  std::string topic;
  std::int32_t partitions = 1;  // connection i reads partition i modulo this
  std::int64_t connections = 1;
  std::int32_t max_bytes = 1024 * 1024;
  bool verify = false;                          // check the checksum of every record
  Duration duration = std::chrono::seconds(5);  // at the end of a log a consumer starts again
};

struct FetchReport {
  std::int64_t requests = 0;
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  Duration elapsed{0};
};

// Errors as of run_produce_load; `damaged` for a checksum that does not fit. Parks.
[[nodiscard]] Result<FetchReport> run_fetch_load(env::Environment& environment, const FetchLoad& load);

}  // namespace booblik::cli
