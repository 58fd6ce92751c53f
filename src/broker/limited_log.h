// Log lines that a peer can cause at will are rationed: a few of a kind in each period, then a count of the
// rest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"
#include "env/clock.h"
#include "env/logger.h"

namespace booblik::broker {

class LimitedLog {
 public:
  static constexpr std::int64_t kLinesPerPeriod = 10;
  static constexpr Duration kPeriod = std::chrono::seconds(10);

  LimitedLog(env::Logger& logger, env::Clock& clock) : logger_(logger), clock_(clock) {}

  // `kind` is a fixed text of the program, never a peer's: it is what is counted.
  void warn(std::string_view kind, std::string_view line);

  // Says what was left out in periods that are over; called now and then, so that a burst's count does not
  // wait for the next burst.
  void flush();

 private:
  struct Kind {
    Instant period_start;
    std::int64_t lines = 0;
    std::int64_t left_out = 0;
  };

  void start_period(std::string_view name, Kind& kind, Instant now);

  env::Logger& logger_;
  env::Clock& clock_;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace booblik::broker
