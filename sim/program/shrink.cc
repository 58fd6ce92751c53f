#include "sim/program/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>

#include "base/check.h"
#include "sim/program/campaign.h"
#include "sim/program/child.h"
#include "sim/program/seed_run.h"

namespace booblik::sim {
namespace {

// A class of options, by the words in their names. Whole classes are tried first: most of them do not matter.
struct OptionClass {
  const char* what;
  std::vector<std::string_view> words;
};

const std::array<OptionClass, 8> kClasses{{
    {"no fault of the network", {"short_", "one_byte", "split_send", "stall", "reset", "refuse"}},
    {"no error of the disk", {"_error_odds", "no_space", "too_many_files", "full_disk"}},
    {"no slow disk", {"slow_spell", "hang", "split_write"}},
    {"no rot", {"rot_"}},
    {"no restart", {"life_millis", "crash_recovery", "reconfigure", "_weight"}},
    {"a good clock", {"wall_jump", "drift"}},
    {"no bad manners", {"misbehaviour"}},
    {"no retention", {"retention"}},
}};

// Where the default is not the simplest, or is too small a load to be one.
const std::map<std::string_view, std::int64_t>& simplest_values() {
  static const std::map<std::string_view, std::int64_t> kValues{
      {"producers", 1}, {"consumers", 0},   {"pollers", 0}, {"depth_max", 1},
      {"batch_max", 1}, {"payload_max", 8}, {"policy", 0},  {"load_millis", 500},
  };
  return kValues;
}

// An option that is on only for the test of the program itself.
constexpr std::string_view kNeverTouched = "planted_fault";

std::int64_t value_of(const Plan& plan, std::string_view option) {
  Plan copy = plan;
  for (const auto& [name, value] : copy.fields()) {
    if (name == option) {
      return *value;
    }
  }
  BOOBLIK_CHECK(false, "an option has a name that the plan knows");
}

void set_value(Plan& plan, std::string_view option, std::int64_t wanted) {
  for (const auto& [name, value] : plan.fields()) {
    if (name == option) {
      *value = wanted;
    }
  }
}

std::vector<std::string> option_names() {
  Plan plan;
  std::vector<std::string> names;
  for (const auto& [name, value] : plan.fields()) {
    if (name != kNeverTouched) {
      names.emplace_back(name);
    }
  }
  return names;
}

bool is_in(const OptionClass& options, std::string_view name) {
  return std::ranges::any_of(
      options.words, [name](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

}  // namespace

std::int64_t simplest(std::string_view option) {
  const auto found = simplest_values().find(option);
  return found == simplest_values().end() ? value_of(Plan{}, option) : found->second;
}

Shrinker::Shrinker(const Arguments& arguments)
    : arguments_(arguments), plan_(plan_of(arguments, arguments.seeds.first)) {}

SeedReport Shrinker::run_once(const Plan& plan) {
  ++runs_;
  const std::uint64_t seed = arguments_.seeds.first;
  SeedReport report;
  report.seed = seed;
  report.outcome = Outcome::crash;
  auto child = Child::start([&](const Child::SendLine& send) {
    env::StackPool stacks{env::StackPool::Options{}};
    send(to_json(run_seed(
        stacks, {.seed = seed, .plan = plan, .twice = arguments_.twice_every != 0, .trace_file = {}})));
  });
  BOOBLIK_CHECK(child.has_value(), child ? "" : child.error().message);
  std::vector<std::string> lines;
  bool goes_on = true;
  while (goes_on && child->speaks_within(arguments_.hang_seconds)) {
    goes_on = child->take_lines(lines);
  }
  if (goes_on) {
    child->kill();
    report.outcome = Outcome::liveness;
    report.reason = fmt::format("no end within {} s of real time", arguments_.hang_seconds);
    return report;
  }
  const std::string how = child->reap();
  if (lines.size() == 1 && how.empty()) {
    report = from_json(lines.front()).value_or(report);
  } else {
    report.reason = "the run ended with " + how;
  }
  return report;
}

bool Shrinker::attempt(const Change& change) {
  Plan smaller = plan_;
  bool differs = false;
  for (const auto& [name, value] : change.values) {
    differs = differs || value_of(smaller, name) != value;
    set_value(smaller, name, value);
  }
  if (!differs || !may_go_on() || !smaller.problem().empty()) {
    return false;
  }
  SeedReport report = run_once(smaller);
  if (report.outcome != failure_.outcome) {
    return false;
  }
  plan_ = smaller;
  failure_ = std::move(report);
  std::fputs(
      fmt::format("run {:>4}: still {} with {}: {} events, {} virtual s\n", runs_, to_text(failure_.outcome),
                  change.what, failure_.events, failure_.virtual_nanoseconds / 1'000'000'000)
          .c_str(),
      stdout);
  std::fflush(stdout);
  return true;
}

bool Shrinker::drop_classes() {
  bool helped = false;
  for (const OptionClass& options : kClasses) {
    Change change{.what = options.what, .values = {}};
    for (const std::string& name : option_names()) {
      if (is_in(options, name)) {
        change.values.emplace_back(name, simplest(name));
      }
    }
    helped = attempt(change) || helped;
  }
  return helped;
}

bool Shrinker::settle_each() {
  bool helped = false;
  for (const std::string& name : option_names()) {
    const std::int64_t value = simplest(name);
    helped = attempt({.what = fmt::format("{}={}", name, value), .values = {{name, value}}}) || helped;
  }
  return helped;
}

// Half of the way to the simplest value, as long as that helps; then one step. Only what counts something or
// lasts: other numbers are either as drawn or as if they were not there.
bool Shrinker::lower_each() {
  bool helped = false;
  for (const char* const name : {"load_millis", "producers", "consumers", "topics", "partitions", "depth_max",
                                 "batch_max", "payload_max"}) {
    for (bool again = true; again;) {
      const std::int64_t value = value_of(plan_, name);
      const std::int64_t way = value - simplest(name);
      again = false;
      for (const std::int64_t step : {way / 2, way / 8, std::int64_t{1}}) {
        // A millisecond less of load is not worth a run.
        if (step <= 0 || step >= way || (step < 64 && way > 640)) {
          continue;
        }
        if (attempt({.what = fmt::format("{}={}", name, value - step), .values = {{name, value - step}}})) {
          again = helped = true;
          break;
        }
      }
    }
  }
  return helped;
}

int Shrinker::run() {
  std::fputs((plan_.describe() + "\n").c_str(), stdout);
  failure_ = run_once(plan_);
  std::fputs(describe_report(arguments_, failure_).c_str(), stdout);
  std::fflush(stdout);
  if (!is_failure(failure_.outcome)) {
    std::fputs("nothing to shrink: the seed does not fail\n", stdout);
    return kOk;
  }
  bool helped = true;
  while (helped && may_go_on()) {
    helped = drop_classes();
    helped = settle_each() || helped;
    helped = lower_each() || helped;
  }
  finish();
  return exit_code_of(failure_.outcome);
}

void Shrinker::finish() {
  const Plan drawn = draw_plan(arguments_.seeds.first, arguments_.mode);
  Arguments smaller = arguments_;
  smaller.set.clear();
  Plan copy = plan_;
  for (const auto& [name, value] : copy.fields()) {
    if (*value != value_of(drawn, name)) {
      smaller.set.push_back(fmt::format("{}={}", name, *value));
    }
  }
  std::fputs(fmt::format("after {} runs{}:\n{}\n{}", runs_, may_go_on() ? "" : " (the limit)",
                         plan_.describe(), describe_report(smaller, failure_))
                 .c_str(),
             stdout);
}

}  // namespace booblik::sim
