#include "sim/program/campaign.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "sim/program/build_info.h"
#include "sim/program/seed_run.h"
#include "sim/program/wall_clock.h"

namespace booblik::sim {
namespace {

constexpr std::uint64_t kBlockSeedsMax = 64;
constexpr std::size_t kListedMax = 20;
constexpr int kLookMillis = 500;
// The last line of a child.
constexpr std::string_view kRanAll = "ran all";

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
}

std::string list_seeds(const char* what, const std::vector<std::uint64_t>& seeds) {
  if (seeds.empty()) {
    return {};
  }
  std::string text = fmt::format("{} seeds:", what);
  for (std::size_t index = 0; index < std::min(seeds.size(), kListedMax); ++index) {
    text += fmt::format(" {}", seeds[index]);
  }
  return text + (seeds.size() > kListedMax ? " ...\n" : "\n");
}

std::string list_counts(const char* what, const std::map<std::string, std::uint64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{} {} {}\n", what, name, count);
  }
  return text;
}

}  // namespace

std::string describe_report(const Arguments& arguments, const SeedReport& report) {
  std::string text;
  if (!report.reason.empty()) {
    text += report.reason + (report.reason.ends_with('\n') ? "" : "\n");
  }
  text += list_counts("check", report.checks);
  if (is_failure(report.outcome)) {
    text += "replay: " + replay_command(arguments, report.seed, arguments.set) +
            (report.outcome == Outcome::nondeterminism ? " --check-determinism\n" : "\n");
  }
  return text + result_line(report, arguments.mode);
}

Campaign::Campaign(const Arguments& arguments)
    : arguments_(arguments), began_(wall_seconds()), next_block_(arguments.seeds.first) {}

int Campaign::run() {
  if (arguments_.is_single()) {
    print(plan_of(arguments_, arguments_.seeds.first).describe() + "\n");
    print(replay_command(arguments_, arguments_.seeds.first, arguments_.set) + "\n");
    std::fflush(stdout);
  }
  if (arguments_.in_process) {
    run_here();
  } else {
    run_children();
  }
  if (!arguments_.is_single()) {
    summarize();
  }
  std::fflush(stdout);
  return code_;
}

bool Campaign::time_is_over() const {
  return arguments_.minutes && wall_seconds() - began_ >= *arguments_.minutes * 60;
}

SeedReport Campaign::run_one(env::StackPool& stacks, std::uint64_t seed) const {
  const std::uint64_t index = seed - arguments_.seeds.first;
  return run_seed(stacks, {.seed = seed,
                           .plan = plan_of(arguments_, seed),
                           .twice = arguments_.twice_every != 0 && index % arguments_.twice_every == 0,
                           .trace_file = arguments_.trace_file});
}

void Campaign::run_here() {
  env::StackPool stacks{env::StackPool::Options{}};
  for (std::uint64_t seed = arguments_.seeds.first; tell(run_one(stacks, seed)); ++seed) {
    if (seed == arguments_.seeds.last || time_is_over()) {
      return;
    }
  }
}

// --- children ---

void Campaign::run_children() {
  while (tell_in_order()) {
    start_blocks();  // behind the telling: all that were there may have been told at once
    if (blocks_.empty()) {
      break;
    }
    wait_for_children();
  }
  blocks_.clear();  // kills what still runs behind a failure
}

// Small enough that every job has something to do until the end.
std::uint64_t Campaign::block_seeds() const {
  const std::uint64_t seeds = arguments_.seeds.last - arguments_.seeds.first;
  return std::clamp<std::uint64_t>(seeds / (4 * static_cast<std::uint64_t>(arguments_.jobs)) + 1, 1,
                                   kBlockSeedsMax);
}

void Campaign::start_blocks() {
  auto running = std::ranges::count_if(blocks_, [](const Block& block) { return block.child.has_value(); });
  // A slow block in front must not let the others run ahead without a bound.
  const auto blocks_max = static_cast<std::size_t>(4 * arguments_.jobs);
  while (!all_started_ && running < arguments_.jobs && blocks_.size() < blocks_max) {
    if (time_is_over() && next_block_ != arguments_.seeds.first) {
      all_started_ = true;
      return;
    }
    Block block;
    block.first = block.next = next_block_;
    const std::uint64_t left = arguments_.seeds.last - next_block_;
    block.last = next_block_ + std::min(left, block_seeds() - 1);
    all_started_ = block.last == arguments_.seeds.last;
    next_block_ = block.last + 1;
    blocks_.push_back(std::move(block));
    start_child(blocks_.back());
    ++running;
  }
}

void Campaign::start_child(Block& block) {
  auto child = Child::start([&](const Child::SendLine& send) { run_block(block, send); });
  BOOBLIK_CHECK(child.has_value(), child ? "" : child.error().message);
  block.child.emplace(std::move(*child));
  block.heard = wall_seconds();
}

// In the child.
void Campaign::run_block(const Block& block, const Child::SendLine& send) const {
  env::StackPool stacks{env::StackPool::Options{}};
  for (std::uint64_t seed = block.next;; ++seed) {
    const SeedReport report = run_one(stacks, seed);
    send(to_json(report));
    if (seed == block.last || (is_failure(report.outcome) && !arguments_.keep_going) || time_is_over()) {
      return send(kRanAll);
    }
  }
}

void Campaign::wait_for_children() {
  std::vector<pollfd> descriptors;
  std::vector<Block*> speakers;
  for (Block& block : blocks_) {
    if (block.child) {
      descriptors.push_back({.fd = block.child->descriptor(), .events = POLLIN, .revents = 0});
      speakers.push_back(&block);
    }
  }
  if (::poll(descriptors.data(), descriptors.size(), kLookMillis) < 0) {
    BOOBLIK_CHECK(errno == EINTR, "pipes to children can be polled");
    return;
  }
  for (std::size_t index = 0; index < descriptors.size(); ++index) {
    Block& block = *speakers[index];
    if (descriptors[index].revents != 0) {
      listen(block);
    } else if (!block.hung && wall_seconds() - block.heard > arguments_.hang_seconds) {
      block.hung = true;
      block.child->kill();
    }
  }
}

void Campaign::listen(Block& block) {
  std::vector<std::string> lines;
  const bool goes_on = block.child->take_lines(lines);
  block.heard = wall_seconds();
  for (const std::string& line : lines) {
    if (line == kRanAll) {
      block.ran_all = true;
      continue;
    }
    auto report = from_json(line);
    BOOBLIK_CHECK(report.has_value(), report ? "" : report.error().message);
    block.next = report->seed + 1;
    block.reports.push_back(std::move(*report));
  }
  if (!goes_on) {
    child_ended(block);
  }
}

void Campaign::child_ended(Block& block) {
  const std::string how = block.child->reap();
  block.child.reset();
  block.ended = true;
  if (how.empty()) {
    return;
  }
  SeedReport report;
  // It ended inside of the seed that it has not reported, or in the exit of the process.
  report.seed = block.ran_all ? block.next - 1 : block.next;
  report.outcome = block.hung ? Outcome::liveness : Outcome::crash;
  report.reason =
      block.hung
          ? fmt::format("no end within {} s of real time: a fiber never waits", arguments_.hang_seconds)
      : block.ran_all ? fmt::format("the process that ran seeds {}..{} ended with {} after the last of them",
                                    block.first, report.seed, how)
                      : fmt::format("the run ended with {}; what it said is on standard error", how);
  block.reports.push_back(report);
  if (!block.ran_all && report.seed < block.last && arguments_.keep_going && !time_is_over()) {
    block.next = report.seed + 1;
    block.ended = false;
    block.hung = false;
    start_child(block);
  }
}

// --- telling ---

bool Campaign::tell_in_order() {
  while (!blocks_.empty()) {
    Block& front = blocks_.front();
    while (!front.reports.empty()) {
      const SeedReport report = std::move(front.reports.front());
      front.reports.pop_front();
      if (!tell(report)) {
        return false;
      }
    }
    if (!front.ended) {
      return true;
    }
    blocks_.pop_front();
  }
  return true;
}

bool Campaign::tell(const SeedReport& report) {
  ++told_;
  last_told_ = report.seed;
  ++outcomes_[to_text(report.outcome)];
  virtual_nanoseconds_ += report.virtual_nanoseconds;
  for (const auto& [name, count] : report.checks) {
    checks_[name] += count;
  }
  for (const auto& [name, count] : report.probes) {
    probes_[name] += count;
  }
  if (arguments_.is_single() && arguments_.probes) {
    print(list_counts("probe", report.probes));
  }
  if (arguments_.is_single() || is_failure(report.outcome)) {
    print(describe_report(arguments_, report));
  }
  if (arguments_.lines) {
    print(short_line(report, arguments_.mode));
  }
  std::fflush(stdout);
  if (report.outcome == Outcome::vacuous) {
    vacuous_.push_back(report.seed);
  }
  if (!is_failure(report.outcome)) {
    return true;
  }
  failed_.push_back(report.seed);
  const int code = exit_code_of(report.outcome);
  code_ = code_ == kOk ? code : std::min(code_, code);
  return arguments_.keep_going;
}

void Campaign::summarize() const {
  const double seconds = std::max(wall_seconds() - began_, 1e-3);
  print(list_seeds("failed", failed_) + list_seeds("vacuous", vacuous_) + list_counts("check", checks_));
  if (arguments_.probes) {
    print(list_counts("probe", probes_));
  }
  std::string outcomes;
  for (const auto& [outcome, count] : outcomes_) {
    outcomes += fmt::format(" {}={}", outcome, count);
  }
  const std::int64_t virtual_seconds = virtual_nanoseconds_ / 1'000'000'000;
  print(fmt::format(
      "summary:{} mode={} seeds={}..{} virtual_s={} mean_virtual_s={} wall_s={} seeds_per_minute={} "
      "jobs={} commit={} build={}\n",
      outcomes, to_text(arguments_.mode), arguments_.seeds.first, last_told_, virtual_seconds,
      virtual_seconds / static_cast<std::int64_t>(std::max<std::uint64_t>(told_, 1)), std::lround(seconds),
      std::lround(60 * static_cast<double>(told_) / seconds), arguments_.jobs, build_commit(), build_name()));
}

}  // namespace booblik::sim
