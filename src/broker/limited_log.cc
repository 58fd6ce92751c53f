#include "broker/limited_log.h"

#include <fmt/format.h>

namespace booblik::broker {

void LimitedLog::warn(std::string_view kind, std::string_view line) {
  const Instant now = clock_.now();
  const auto [entry, is_new] = kinds_.try_emplace(std::string(kind), Kind{now});
  if (!is_new && now - entry->second.period_start >= kPeriod) {
    start_period(entry->first, entry->second, now);
  }
  if (entry->second.lines < kLinesPerPeriod) {
    ++entry->second.lines;
    logger_.write(env::Level::warning, line);
  } else {
    ++entry->second.left_out;
  }
}

void LimitedLog::flush() {
  const Instant now = clock_.now();
  for (auto& [name, kind] : kinds_) {
    if (now - kind.period_start >= kPeriod) {
      start_period(name, kind, now);
    }
  }
}

void LimitedLog::start_period(std::string_view name, Kind& kind, Instant now) {
  if (kind.left_out > 0) {
    logger_.write(env::Level::warning, fmt::format("{}: {} more like this", name, kind.left_out));
  }
  kind = Kind{now};
}

}  // namespace booblik::broker
