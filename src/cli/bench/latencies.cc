#include "cli/bench/latencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace booblik::cli {

void Latencies::add(Duration latency) {
  if (micros_.size() < kKeptMax) {
    const std::int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(latency).count();
    micros_.push_back(static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(micros, 0, std::numeric_limits<std::uint32_t>::max())));
  }
}

void Latencies::merge(const Latencies& other) {
  micros_.insert(micros_.end(), other.micros_.begin(), other.micros_.end());
}

Duration Latencies::percentile(double share) {
  if (micros_.empty()) {
    return Duration(0);
  }
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(micros_.size() - 1) + 0.5);
  const auto at = micros_.begin() + static_cast<std::ptrdiff_t>(rank);
  std::ranges::nth_element(micros_, at);
  return std::chrono::microseconds(*at);
}

std::string Latencies::to_string() {
  const auto micros = [this](double share) {
    return std::chrono::duration_cast<std::chrono::microseconds>(percentile(share)).count();
  };
  return fmt::format("p50 {} us, p90 {} us, p99 {} us, p99.9 {} us, max {} us", micros(0.5), micros(0.9),
                     micros(0.99), micros(0.999), micros(1.0));
}

}  // namespace booblik::cli
