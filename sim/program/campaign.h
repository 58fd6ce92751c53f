// Runs the seeds of the command line in child processes, side by side, and tells in seed order what came of
// each: the output does not depend on the number of jobs.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/program/arguments.h"
#include "sim/program/child.h"
#include "sim/program/report.h"

namespace booblik::sim {

class Campaign {
 public:
  explicit Campaign(const Arguments& arguments);

  // The exit code.
  int run();

 private:
  // Consecutive seeds that one child runs.
  struct Block {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t next = 0;  // the seed whose report is waited for
    std::deque<SeedReport> reports;
    std::optional<Child> child;
    double heard = 0;  // wall time of the last word
    bool hung = false;
    bool ran_all = false;  // says the child
    bool ended = false;
  };

  void run_here();
  void run_children();
  void start_blocks();
  void start_child(Block& block);
  void run_block(const Block& block, const Child::SendLine& send) const;
  // Waits until some child has something to say, or hangs.
  void wait_for_children();
  void listen(Block& block);
  void child_ended(Block& block);
  // Tells what is next in order. False when the campaign has to stop.
  [[nodiscard]] bool tell_in_order();
  [[nodiscard]] bool tell(const SeedReport& report);

  [[nodiscard]] SeedReport run_one(env::StackPool& stacks, std::uint64_t seed) const;
  [[nodiscard]] bool time_is_over() const;
  [[nodiscard]] std::uint64_t block_seeds() const;
  void summarize() const;

  const Arguments& arguments_;
  double began_;
  std::deque<Block> blocks_;  // in seed order; those in front are told
  std::uint64_t next_block_;
  bool all_started_ = false;

  int code_ = kOk;
  std::uint64_t told_ = 0;
  std::uint64_t last_told_ = 0;
  std::map<std::string, std::uint64_t> outcomes_;
  std::map<std::string, std::uint64_t> checks_;
  std::map<std::string, std::uint64_t> probes_;
  std::vector<std::uint64_t> failed_;
  std::vector<std::uint64_t> vacuous_;
  std::int64_t virtual_nanoseconds_ = 0;
};

// What a person reads of one seed: why it failed, what was checked, the result, the command that repeats it.
[[nodiscard]] std::string describe_report(const Arguments& arguments, const SeedReport& report);

}  // namespace booblik::sim
