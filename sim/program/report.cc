#include "sim/program/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/program/build_info.h"

namespace booblik::sim {

const char* to_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::vacuous:
      return "vacuous";
    case Outcome::crash:
      return "crash";
    case Outcome::safety:
      return "safety";
    case Outcome::liveness:
      return "liveness";
    case Outcome::nondeterminism:
      return "nondeterminism";
  }
  return "?";
}

ExitCode exit_code_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
    case Outcome::vacuous:
      return kOk;
    case Outcome::crash:
      return kCrash;
    case Outcome::safety:
      return kSafety;
    case Outcome::liveness:
      return kLiveness;
    case Outcome::nondeterminism:
      return kNondeterminism;
  }
  return kCrash;
}

SeedReport make_report(std::uint64_t seed, const RunResult& result) {
  SeedReport report;
  report.seed = seed;
  report.outcome = result.verdict == Verdict::ok        ? Outcome::ok
                   : result.verdict == Verdict::vacuous ? Outcome::vacuous
                   : result.verdict == Verdict::safety  ? Outcome::safety
                                                        : Outcome::liveness;
  report.reason = result.reason;
  report.fingerprint = result.fingerprint;
  report.events = result.events;
  report.turns = result.turns;
  report.virtual_nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(result.virtual_time).count();
  report.lives = result.lives;
  report.records = result.records;
  report.checks.insert(result.checks.begin(), result.checks.end());
  report.probes.insert(result.probes.begin(), result.probes.end());
  return report;
}

std::string result_line(const SeedReport& report, Mode mode) {
  return fmt::format(
      "seed={} commit={} build={} events={} virtual_s={} fingerprint={:016x} result={} mode={} lives={} "
      "records={} turns={}\n",
      report.seed, build_commit(), build_name(), report.events, report.virtual_nanoseconds / 1'000'000'000,
      report.fingerprint, to_text(report.outcome), to_text(mode), report.lives, report.records, report.turns);
}

std::string short_line(const SeedReport& report, Mode mode) {
  return fmt::format("{} {} {:016x} {}\n", report.seed, to_text(mode), report.fingerprint,
                     to_text(report.outcome));
}

std::string to_json(const SeedReport& report) {
  const nlohmann::json object = {{"seed", report.seed},
                                 {"outcome", static_cast<int>(report.outcome)},
                                 {"reason", report.reason},
                                 {"fingerprint", report.fingerprint},
                                 {"events", report.events},
                                 {"turns", report.turns},
                                 {"virtual", report.virtual_nanoseconds},
                                 {"lives", report.lives},
                                 {"records", report.records},
                                 {"checks", report.checks},
                                 {"probes", report.probes}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<SeedReport> from_json(std::string_view line) {
  try {
    const auto object = nlohmann::json::parse(line);
    SeedReport report;
    report.seed = object.at("seed").get<std::uint64_t>();
    report.outcome = static_cast<Outcome>(object.at("outcome").get<int>());
    report.reason = object.at("reason").get<std::string>();
    report.fingerprint = object.at("fingerprint").get<std::uint64_t>();
    report.events = object.at("events").get<std::uint64_t>();
    report.turns = object.at("turns").get<std::uint64_t>();
    report.virtual_nanoseconds = object.at("virtual").get<std::int64_t>();
    report.lives = object.at("lives").get<std::uint64_t>();
    report.records = object.at("records").get<std::uint64_t>();
    report.checks = object.at("checks").get<decltype(report.checks)>();
    report.probes = object.at("probes").get<decltype(report.probes)>();
    return report;
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::damaged, fmt::format("a child process says '{}': {}", line, error.what()));
  }
}

}  // namespace booblik::sim
