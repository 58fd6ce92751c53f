// Latencies of single requests, kept one by one, so that percentiles are exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace booblik::cli {

class Latencies {
 public:
  // What comes after so many is left out: a bound on memory, 4 bytes each.
  static constexpr std::size_t kKeptMax = 16'000'000;

  void add(Duration latency);

  void merge(const Latencies& other);

  [[nodiscard]] std::size_t count() const { return micros_.size(); }

  // `share` in [0, 1]: 0.99 is the 99th percentile, 1 the largest. Zero when there are none.
  [[nodiscard]] Duration percentile(double share);

  // "p50 84 us, p90 120 us, p99 310 us, p99.9 800 us, max 1900 us"
  [[nodiscard]] std::string to_string();

 private:
  std::vector<std::uint32_t> micros_;
};

}  // namespace booblik::cli
