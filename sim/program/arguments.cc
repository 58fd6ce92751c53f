#include "sim/program/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>

#include "base/check.h"
#include "base/numbers.h"
#include "sim/program/report.h"
#include "sim/program/trace_file.h"

namespace booblik::sim {
namespace {

constexpr std::int64_t kJobsMax = 256;

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 crash or failed assertion, 2 safety, 3 liveness, 4 nondeterminism, 64 usage; of\n"
    "several failures the smallest. docs/simulation.md tells how to read, replay and shrink a failure.";

struct Texts {
  std::string seed;
  std::string seeds;
  std::string mode = "any";
  double minutes = 0;
  bool check_determinism = false;
};

void declare(CLI::App& app, Arguments& arguments, Texts& texts) {
  app.footer(kFooter);
  app.add_option("--seed", texts.seed, "One seed: decimal, 0x hex, or a commit hash of 40 digits");
  app.add_option("--seeds", texts.seeds, "A range of seeds, A..B, both included");
  app.add_option("--minutes", texts.minutes, "Run consecutive seeds from the first one for so long");
  app.add_option("--jobs", arguments.jobs, "Child processes side by side");
  app.add_option("--mode", texts.mode, "any, crash, rot, network or calm");
  app.add_option("--set", arguments.set, "Fix a drawn option, name=number; may be repeated");
  app.add_flag("--keep-going", arguments.keep_going, "Go on after a seed that fails");
  app.add_flag("--check-determinism", texts.check_determinism, "Run each seed twice and compare");
  app.add_option("--twice-every", arguments.twice_every, "The same for every n-th seed of a range");
  app.add_option("--trace", arguments.trace_file,
                 "Write everything that happens to this file (- is standard output; *.json for a viewer)");
  app.add_flag("--shrink", arguments.shrink, "Search for a smaller scenario that fails in the same way");
  app.add_option("--shrink-runs", arguments.shrink_runs_max, "Runs that a search may take");
  app.add_flag("--probes", arguments.probes, "Print how often each rare path ran");
  app.add_flag("--lines", arguments.lines, "Print a line a seed: seed mode fingerprint result");
  app.add_option("--hang-seconds", arguments.hang_seconds,
                 "Real time after which a run without an end counts as liveness");
  app.add_flag("--in-process", arguments.in_process, "Run in this process, for a debugger");
}

Result<SeedRange> range_of(const Texts& texts, bool has_minutes) {
  if (!texts.seed.empty() && !texts.seeds.empty()) {
    return fail(ErrorCode::invalid, "give --seed or --seeds, not both");
  }
  if (!texts.seeds.empty()) {
    return parse_seeds(texts.seeds);
  }
  if (texts.seed.empty() && !has_minutes) {
    return fail(ErrorCode::invalid, "give --seed N, --seeds A..B or --minutes M");
  }
  const auto first = texts.seed.empty() ? 1 : parse_seed(texts.seed);
  if (!first) {
    return std::unexpected(first.error());
  }
  return SeedRange{*first, has_minutes ? std::numeric_limits<std::uint64_t>::max() : *first};
}

Result<void> check_set(const Arguments& arguments) {
  for (const std::string& assignment : arguments.set) {
    Plan plan = draw_plan(arguments.seeds.first, arguments.mode);
    if (auto applied = apply_set(plan, assignment); !applied) {
      return applied;
    }
    if (const std::string problem = plan.problem(); !problem.empty()) {
      return fail(ErrorCode::invalid, "--set " + problem);
    }
  }
  return {};
}

Result<void> check_numbers(const Arguments& arguments) {
  if (arguments.jobs < 1 || arguments.jobs > kJobsMax) {
    return fail(ErrorCode::invalid,
                fmt::format("--jobs {}: it has to be in 1..{}", arguments.jobs, kJobsMax));
  }
  if (arguments.minutes && !(*arguments.minutes > 0 && *arguments.minutes < 1e6)) {
    return fail(ErrorCode::invalid, fmt::format("--minutes {}: it has to be above 0", *arguments.minutes));
  }
  if (!(arguments.hang_seconds > 0 && arguments.hang_seconds < 1e6)) {
    return fail(ErrorCode::invalid, "--hang-seconds has to be above 0");
  }
  if (arguments.shrink_runs_max < 1) {
    return fail(ErrorCode::invalid, "--shrink-runs has to be above 0");
  }
  return {};
}

// What goes together only for one seed.
Result<void> check_together(const Arguments& arguments) {
  if (!arguments.is_single() && (!arguments.trace_file.empty() || arguments.shrink)) {
    return fail(ErrorCode::invalid, "--trace and --shrink take one seed: give --seed N");
  }
  if (!arguments.trace_file.empty() && (arguments.shrink || arguments.twice_every != 0)) {
    return fail(ErrorCode::invalid, "--trace goes with neither --shrink nor --check-determinism");
  }
  if (arguments.in_process && (arguments.jobs > 1 || arguments.shrink)) {
    return fail(ErrorCode::invalid, "--in-process goes with neither --jobs nor --shrink");
  }
  return arguments.trace_file.empty() ? Result<void>{} : check_trace_file(arguments.trace_file);
}

Result<void> complete(Arguments& arguments, const Texts& texts, bool has_minutes) {
  const auto mode = mode_of(texts.mode);
  if (!mode) {
    return fail(ErrorCode::invalid,
                fmt::format("--mode {}: it is one of any, crash, rot, network, calm", texts.mode));
  }
  const auto range = range_of(texts, has_minutes);
  if (!range) {
    return std::unexpected(range.error());
  }
  arguments.mode = *mode;
  arguments.seeds = *range;
  if (has_minutes) {
    arguments.minutes = texts.minutes;
  }
  if (texts.check_determinism) {
    arguments.twice_every = 1;
  }
  for (const auto& check : {check_set, check_numbers, check_together}) {
    if (auto checked = check(arguments); !checked) {
      return checked;
    }
  }
  return {};
}

}  // namespace

std::expected<Arguments, int> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  Texts texts;
  arguments.program = argc > 0 ? argv[0] : "booblik-sim";
  CLI::App app{"Replays the whole broker from one number", "booblik-sim"};
  declare(app, arguments, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return std::unexpected(app.exit(error) == 0 ? kOk : kUsage);
  }
  if (const auto completed = complete(arguments, texts, app.count("--minutes") > 0); !completed) {
    std::fputs(("booblik-sim: " + completed.error().message + "\n").c_str(), stderr);
    return std::unexpected(kUsage);
  }
  return arguments;
}

Result<void> apply_set(Plan& plan, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  for (const auto& [name, value] : plan.fields()) {
    if (equals == std::string_view::npos || assignment.substr(0, equals) != name) {
      continue;
    }
    const auto number = parse_number<std::int64_t>(assignment.substr(equals + 1));
    if (!number) {
      return fail(ErrorCode::invalid, fmt::format("--set {}: the value is not a number", assignment));
    }
    *value = *number;
    return {};
  }
  return fail(
      ErrorCode::invalid,
      fmt::format("--set {}: no option of that name; write name=number, names as printed before a run",
                  assignment));
}

Plan plan_of(const Arguments& arguments, std::uint64_t seed) {
  Plan plan = draw_plan(seed, arguments.mode);
  for (const std::string& assignment : arguments.set) {
    BOOBLIK_CHECK(apply_set(plan, assignment).has_value(), "assignments are checked when they are parsed");
  }
  return plan;
}

std::string replay_command(const Arguments& arguments, std::uint64_t seed,
                           const std::vector<std::string>& set) {
  std::string command =
      fmt::format("{} --seed {} --mode {}", arguments.program, seed, to_text(arguments.mode));
  for (const std::string& assignment : set) {
    command += " --set " + assignment;
  }
  return command;
}

}  // namespace booblik::sim
