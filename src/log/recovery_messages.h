// What recovery tells the people who run the broker: its findings and, when it takes long, its progress.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "env/clock.h"
#include "env/logger.h"
#include "log/recovery_report.h"

namespace booblik::log {

// One line: what, where, and what it means for readers.
[[nodiscard]] std::string describe(const Finding& finding);

// The findings of one partition, each a line, the first twenty of them.
void log_findings(env::Logger& logger, const std::string& partition, const RecoveryReport& report);

// A line every few seconds, with the share that is done.
class Progress {
 public:
  Progress(env::Clock& clock, env::Logger& logger, std::string partition, std::int64_t bytes_total);

  void add(std::int64_t bytes);

 private:
  env::Clock& clock_;
  env::Logger& logger_;
  std::string partition_;
  std::int64_t bytes_total_;
  std::int64_t bytes_done_ = 0;
  Instant last_line_;
};

}  // namespace booblik::log
