#include "broker/metrics.h"

#include <fmt/format.h>

#include <numeric>

namespace booblik::broker {
namespace {

std::int64_t total(const std::array<std::int64_t, 6>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

std::string rate_line(const Metrics& before, const Metrics& after, Duration elapsed) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const auto rate = [seconds](std::int64_t from, std::int64_t to) {
    return seconds > 0 ? static_cast<double>(to - from) / seconds : 0.0;
  };
  constexpr double kMiB = 1024.0 * 1024.0;
  std::string line = fmt::format(
      "in {:.0f} records/s {:.1f} MiB/s, out {:.0f} fetches/s {:.1f} MiB/s, connections {}, held fetches {}",
      rate(before.records_in, after.records_in), rate(before.bytes_in, after.bytes_in) / kMiB,
      rate(before.fetches, after.fetches), rate(before.bytes_out, after.bytes_out) / kMiB, after.connections,
      after.held_fetches);
  // Trouble is named only when there was some.
  const auto name_if_any = [&line](const char* name, std::int64_t from, std::int64_t to) {
    if (to > from) {
      line += fmt::format(", {} {}", name, to - from);
    }
  };
  name_if_any("refused requests", total(before.refusals), total(after.refusals));
  name_if_any("silently refused batches (ack none)", before.silent_refusals, after.silent_refusals);
  name_if_any("batches lost to storage failures", before.failed_appends, after.failed_appends);
  name_if_any("connections cut", before.connections_cut, after.connections_cut);
  name_if_any("connections refused", before.connections_refused, after.connections_refused);
  return line;
}

}  // namespace booblik::broker
