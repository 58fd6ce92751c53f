// Searches for a smaller scenario that still fails in the same way.
#pragma once

#include <string>
#include <vector>

#include "sim/program/arguments.h"
#include "sim/program/report.h"

namespace booblik::sim {

class Shrinker {
 public:
  explicit Shrinker(const Arguments& arguments);

  // Prints each step that helped and at the end the smaller command. The exit code is that of the failure;
  // kOk when the seed does not fail.
  int run();

 private:
  // A group of options that is set at once.
  struct Change {
    std::string what;
    std::vector<std::pair<std::string, std::int64_t>> values;
  };

  [[nodiscard]] SeedReport run_once(const Plan& plan);
  // Takes the change when the plan still fails the same way.
  bool attempt(const Change& change);
  [[nodiscard]] bool may_go_on() const { return runs_ < arguments_.shrink_runs_max; }
  // Each returns whether it helped.
  bool drop_classes();
  bool settle_each();
  bool lower_each();
  void finish();

  const Arguments& arguments_;
  Plan plan_;
  SeedReport failure_;
  std::int64_t runs_ = 0;
};

// The value of an option in the smallest scenario, where it is as if it were not there.
[[nodiscard]] std::int64_t simplest(std::string_view option);

}  // namespace booblik::sim
