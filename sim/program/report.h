// What came of one seed, in a form that goes from a child process to its parent, and to people.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/plan.h"
#include "sim/run.h"

namespace booblik::sim {

enum class Outcome { ok, vacuous, crash, safety, liveness, nondeterminism };

[[nodiscard]] const char* to_text(Outcome outcome);
[[nodiscard]] inline bool is_failure(Outcome outcome) {
  return outcome != Outcome::ok && outcome != Outcome::vacuous;
}

enum ExitCode { kOk = 0, kCrash = 1, kSafety = 2, kLiveness = 3, kNondeterminism = 4, kUsage = 64 };

[[nodiscard]] ExitCode exit_code_of(Outcome outcome);

struct SeedReport {
  std::uint64_t seed = 0;
  Outcome outcome = Outcome::ok;
  std::string reason;  // of a failure; may have several lines
  std::uint64_t fingerprint = 0;
  std::uint64_t events = 0;
  std::uint64_t turns = 0;
  std::int64_t virtual_nanoseconds = 0;
  std::uint64_t lives = 0;
  std::uint64_t records = 0;
  std::map<std::string, std::uint64_t> checks;
  std::map<std::string, std::uint64_t> probes;
};

[[nodiscard]] SeedReport make_report(std::uint64_t seed, const RunResult& result);

// "seed=... commit=... ... result=...", with a line end.
[[nodiscard]] std::string result_line(const SeedReport& report, Mode mode);
// "SEED MODE FINGERPRINT RESULT", with a line end: the same from every build.
[[nodiscard]] std::string short_line(const SeedReport& report, Mode mode);

// One line of JSON without a line end, and back. A line that is none of ours is ErrorCode::damaged.
[[nodiscard]] std::string to_json(const SeedReport& report);
[[nodiscard]] Result<SeedReport> from_json(std::string_view line);

}  // namespace booblik::sim
