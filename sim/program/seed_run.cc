#include "sim/program/seed_run.h"

#include <fmt/format.h>

#include "sim/program/determinism.h"
#include "sim/program/trace_file.h"

namespace booblik::sim {
namespace {

SeedReport run_twice(env::StackPool& stacks, const SeedTask& task) {
  FingerprintHistory first;
  FingerprintHistory second;
  SeedReport report =
      make_report(task.seed, run_plan(stacks, task.seed, task.plan, {.sink = nullptr, .history = &first}));
  if (is_failure(report.outcome)) {
    return report;
  }
  static_cast<void>(run_plan(stacks, task.seed, task.plan, {.sink = nullptr, .history = &second}));
  if (const auto event = first_difference(first, second)) {
    report.outcome = Outcome::nondeterminism;
    report.reason =
        fmt::format("two runs differ in event {} (of {} and {})\n", *event, first.size(), second.size()) +
        explain_difference(stacks, task.seed, task.plan, *event);
  }
  return report;
}

}  // namespace

SeedReport run_seed(env::StackPool& stacks, const SeedTask& task) {
  if (task.trace_file.empty()) {
    return task.twice ? run_twice(stacks, task)
                      : make_report(task.seed, run_plan(stacks, task.seed, task.plan, {}));
  }
  TraceFile file(task.trace_file);
  return make_report(task.seed, run_plan(stacks, task.seed, task.plan, {.sink = &file.sink()}));
}

}  // namespace booblik::sim
