// The command line of booblik-sim.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/plan.h"
#include "sim/program/seeds.h"

namespace booblik::sim {

struct Arguments {
  std::string program;  // as it was called, for the replay command
  SeedRange seeds;
  Mode mode = Mode::any;
  std::vector<std::string> set;  // "name=number", all of them good
  std::optional<double> minutes;
  std::int64_t jobs = 1;
  std::string trace_file;
  std::uint64_t twice_every = 0;  // every n-th seed runs twice; 0: none
  bool shrink = false;
  std::int64_t shrink_runs_max = 2'000;
  double hang_seconds = 300;
  bool probes = false;
  bool lines = false;
  bool keep_going = false;
  bool in_process = false;

  [[nodiscard]] bool is_single() const { return seeds.first == seeds.last && !minutes; }
};

// The arguments; or the exit code when there is nothing to run: help was asked for, or what is wrong has been
// said on standard error.
[[nodiscard]] std::expected<Arguments, int> parse_arguments(int argc, char** argv);

// Sets what "name=number" says.
[[nodiscard]] Result<void> apply_set(Plan& plan, std::string_view assignment);

// The plan of a seed with everything that was set.
[[nodiscard]] Plan plan_of(const Arguments& arguments, std::uint64_t seed);

// The command that runs this seed again, and `extra` behind it.
[[nodiscard]] std::string replay_command(const Arguments& arguments, std::uint64_t seed,
                                         const std::vector<std::string>& set);

}  // namespace booblik::sim
