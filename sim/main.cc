// booblik-sim: runs seeds, and replays one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/run.h"
#include "sim/text_trace.h"

namespace booblik::sim {
namespace {

enum ExitCode { kOk = 0, kSafety = 2, kLiveness = 3, kNondeterminism = 4, kUsage = 64 };

struct Arguments {
  std::string seed;
  std::string seeds;
  std::string mode = "any";
  std::vector<std::string> set;
  bool trace = false;
  bool check_determinism = false;
  bool probes = false;
  bool keep_going = false;
};

// Decimal, 0x hex, or a commit hash of 40 digits, of which the first 16 count.
std::optional<std::uint64_t> parse_seed(std::string_view text) {
  int base = 10;
  if (text.size() == 40) {
    text = text.substr(0, 16);
    base = 16;
  } else if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(seed) : std::nullopt;
}

// "key=value", or what is wrong with it.
std::string apply_set(Plan& plan, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  for (const auto& [name, value] : plan.fields()) {
    if (equals != std::string::npos && assignment.substr(0, equals) == name) {
      const char* end = assignment.data() + assignment.size();
      const auto parsed = std::from_chars(assignment.data() + equals + 1, end, *value);
      return parsed.ec == std::errc() && parsed.ptr == end ? "" : assignment + ": the value is not a number";
    }
  }
  return assignment + ": no option of that name; write name=number, names as printed before a run";
}

class Program {
 public:
  Program(Arguments arguments, Mode mode) : arguments_(std::move(arguments)), mode_(mode) {}

  int run(std::uint64_t first, std::uint64_t last) {
    int code = kOk;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      const int outcome = run_seed(seed, first == last);
      code = std::max(code, outcome);
      std::fflush(stdout);
      if (outcome != kOk && !arguments_.keep_going) {
        break;
      }
    }
    if (first != last) {
      summarize();
    }
    return code;
  }

 private:
  int run_seed(std::uint64_t seed, bool alone) {
    Plan plan = draw_plan(seed, mode_);
    std::string replay_command = fmt::format("booblik-sim --seed {} --mode {}", seed, to_text(mode_));
    for (const std::string& assignment : arguments_.set) {
      if (const std::string problem = apply_set(plan, assignment); !problem.empty()) {
        std::fputs(("booblik-sim: --set " + problem + "\n").c_str(), stderr);
        return kUsage;
      }
      replay_command += " --set " + assignment;
    }
    if (alone) {
      std::fputs((plan.describe() + "\n").c_str(), stdout);
    }
    // Before the run, so that one that ends the process can be replayed too.
    std::fputs((replay_command + "\n").c_str(), stdout);
    std::fflush(stdout);
    const RunResult result = run_once(seed, plan);
    int code = report(seed, result, alone);
    if (code == kOk && arguments_.check_determinism) {
      code = compare(seed, result, run_once(seed, plan));
    }
    if (code != kOk) {
      std::fputs(("replay: " + replay_command + "\n").c_str(), stdout);
    }
    add(result);
    return code;
  }

  RunResult run_once(std::uint64_t seed, const Plan& plan) {
    std::unique_ptr<TextTrace> trace;
    if (arguments_.trace) {
      trace = std::make_unique<TextTrace>();
    }
    return run_plan(stacks_, seed, plan, trace.get());
  }

  int compare(std::uint64_t seed, const RunResult& first, const RunResult& second) {
    if (first.fingerprint == second.fingerprint && first.events == second.events) {
      return kOk;
    }
    std::fputs(
        fmt::format("seed {}: two runs differ: fingerprint {:016x} after {} events, {:016x} after {}\n", seed,
                    first.fingerprint, first.events, second.fingerprint, second.events)
            .c_str(),
        stdout);
    return kNondeterminism;
  }

  int report(std::uint64_t seed, const RunResult& result, bool alone) {
    const bool failed = result.verdict == Verdict::safety || result.verdict == Verdict::liveness;
    if (failed) {
      std::fputs((result.reason + "\n").c_str(), stdout);
    }
    if (alone || failed) {
      for (const auto& [name, count] : result.checks) {
        std::fputs(fmt::format("check {} {}\n", name, count).c_str(), stdout);
      }
      std::fputs(
          fmt::format(
              "seed={} mode={} lives={} records={} turns={} events={} virtual_s={} fingerprint={:016x} "
              "result={}\n",
              seed, to_text(mode_), result.lives, result.records, result.turns, result.events,
              std::chrono::duration_cast<std::chrono::seconds>(result.virtual_time).count(),
              result.fingerprint, to_text(result.verdict))
              .c_str(),
          stdout);
      std::fflush(stdout);
    }
    return result.verdict == Verdict::safety     ? kSafety
           : result.verdict == Verdict::liveness ? kLiveness
                                                 : kOk;
  }

  void add(const RunResult& result) {
    ++verdicts_[to_text(result.verdict)];
    virtual_time_ += result.virtual_time;
    for (const auto& [name, count] : result.probes) {
      probes_[name] += count;
    }
  }

  void summarize() {
    std::string line = "summary:";
    for (const auto& [verdict, count] : verdicts_) {
      line += fmt::format(" {}={}", verdict, count);
    }
    line += fmt::format(" virtual_s={}\n",
                        std::chrono::duration_cast<std::chrono::seconds>(virtual_time_).count());
    if (arguments_.probes) {
      for (const auto& [name, count] : probes_) {
        line += fmt::format("probe {} {}\n", name, count);
      }
    }
    std::fputs(line.c_str(), stdout);
  }

  Arguments arguments_;
  Mode mode_;
  env::StackPool stacks_{env::StackPool::Options{}};
  std::map<std::string, std::uint64_t> verdicts_;
  std::map<std::string, std::uint64_t> probes_;
  Duration virtual_time_{0};
};

int usage(const std::string& problem) {
  std::fputs(("booblik-sim: " + problem + "\n").c_str(), stderr);
  return kUsage;
}

int start(const Arguments& arguments) {
  const auto mode = mode_of(arguments.mode);
  if (!mode) {
    return usage("--mode is one of any, crash, network, calm, rot");
  }
  std::string first = arguments.seed;
  std::string last = arguments.seed;
  if (const std::size_t dots = arguments.seeds.find(".."); dots != std::string::npos) {
    first = arguments.seeds.substr(0, dots);
    last = arguments.seeds.substr(dots + 2);
  }
  const auto low = parse_seed(first);
  const auto high = parse_seed(last);
  if (!low || !high || *low > *high) {
    return usage("give --seed N (decimal, 0x hex, or a commit hash) or --seeds A..B");
  }
  return Program(arguments, *mode).run(*low, *high);
}

}  // namespace
}  // namespace booblik::sim

int main(int argc, char** argv) {
  booblik::sim::Arguments arguments;
  CLI::App app{"Replays the whole broker from one number"};
  app.add_option("--seed", arguments.seed, "One seed: decimal, 0x hex, or a commit hash");
  app.add_option("--seeds", arguments.seeds, "A range of seeds, A..B");
  app.add_option("--mode", arguments.mode, "any, crash, network, calm or rot");
  app.add_option("--set", arguments.set, "Fix a drawn option, name=number; may be repeated");
  app.add_flag("--trace", arguments.trace, "Print everything that happens, in virtual time");
  app.add_flag("--check-determinism", arguments.check_determinism, "Run each seed twice and compare");
  app.add_flag("--probes", arguments.probes, "Print how often each rare path ran, at the end of a range");
  app.add_flag("--keep-going", arguments.keep_going, "Go on after a seed that fails");
  CLI11_PARSE(app, argc, argv);
  return booblik::sim::start(arguments);
}
