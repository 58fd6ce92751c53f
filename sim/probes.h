// Counts how often the rare paths ran, in the code under test and in the faults themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "env/probe.h"
#include "sim/process_heap.h"

namespace booblik::sim {

class ProbeCounts final : public env::Probe {
 public:
  using Counts = std::map<std::string, std::uint64_t, std::less<>>;

  void hit(std::string_view name) override {
    const HeapScope world(nullptr);
    if (watcher_) {
      watcher_(name);
    }
    const auto found = counts_.find(name);
    if (found == counts_.end()) {
      counts_.emplace(name, 1);
    } else {
      ++found->second;
    }
  }

  // Is told of every hit, for a trace.
  void set_watcher(std::move_only_function<void(std::string_view)> watcher) { watcher_ = std::move(watcher); }

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t count(std::string_view name) const {
    const auto found = counts_.find(name);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  Counts counts_;
  std::move_only_function<void(std::string_view)> watcher_;
};

}  // namespace booblik::sim
