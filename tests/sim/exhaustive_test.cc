// Loops that seeds cannot replace: every disk operation of a short workload on the whole broker fails in
// every way, or is where the process or the power ends; and every operation of the recovery after that, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "sim/short_run.h"

namespace booblik::sim {
namespace {

using Kind = ScriptedFault::Kind;

constexpr std::array kKills{Kind::kill_before, Kind::kill_within, Kind::kill_after};
constexpr std::array kPowerLosses{Kind::power_loss_before, Kind::power_loss_within, Kind::power_loss_after};

// Sanitizers make a run ten times slower, so they take every n-th operation (BOOBLIK_EXHAUSTIVE_STRIDE).
std::uint64_t stride() {
  const char* text = std::getenv("BOOBLIK_EXHAUSTIVE_STRIDE");
  return text == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(text, nullptr, 10));
}

std::string describe(const ShortRunOptions& options) {
  std::string text = "power loss " + std::to_string(static_cast<int>(options.power_loss));
  for (const ScriptedFault& fault : options.script) {
    text += ", operation " + std::to_string(fault.operation) + " kind " +
            std::to_string(static_cast<int>(fault.kind)) + " sync failure " +
            std::to_string(static_cast<int>(fault.sync_failure));
  }
  return text;
}

class ExhaustiveTest : public ::testing::Test {
 protected:
  ShortRunResult run(const ShortRunOptions& options) {
    ++runs_;
    ShortRunResult result = run_short(stacks_, options);
    EXPECT_FALSE(result.problem) << *result.problem << "\n  " << describe(options);
    EXPECT_GT(result.records_checked, 0U) << describe(options);
    // A fault that is not reached tests nothing.
    for (const ScriptedFault& fault : options.script) {
      EXPECT_GE(result.operations.size(), fault.operation) << describe(options);
    }
    return result;
  }

  void print(const char* what, std::size_t operations) const {
    std::cout << what << ": " << operations << " operations, " << runs_ << " runs\n";
  }

  env::StackPool stacks_{env::StackPool::Options{}};
  std::uint64_t runs_ = 0;
};

TEST_F(ExhaustiveTest, TheWorkloadReachesWhatItIsMeantToReach) {
  const ShortRunResult calm = run({});
  EXPECT_EQ(calm.records_acked, 3U * 9 + 1 + 8);
  EXPECT_EQ(calm.started_at.size(), 3U);
  EXPECT_GE(calm.operations.size(), 150U);
  for (const auto operation :
       {DiskOperation::open, DiskOperation::create_directory, DiskOperation::list, DiskOperation::rename,
        DiskOperation::remove, DiskOperation::sync_directory, DiskOperation::lock, DiskOperation::read,
        DiskOperation::write, DiskOperation::truncate, DiskOperation::sync}) {
    EXPECT_TRUE(std::ranges::find(calm.operations, operation) != calm.operations.end()) << to_text(operation);
  }
  EXPECT_EQ(run({}).fingerprint, calm.fingerprint);
}

TEST_F(ExhaustiveTest, EveryOperationFailsInEveryWay) {
  const auto operations = run({}).operations;
  for (std::uint64_t number = 1; number <= operations.size(); number += stride()) {
    for (const ScriptedFault& fault : failures_of(operations[number - 1], number)) {
      run({.script = {fault}, .evict = number % 2 == 0});
    }
  }
  print("failures", operations.size());
  EXPECT_GE(runs_, operations.size() * 2 / stride());
}

TEST_F(ExhaustiveTest, TheProcessDiesAtEveryOperation) {
  const std::size_t operations = run({}).operations.size();
  for (std::uint64_t number = 1; number <= operations; number += stride()) {
    for (const Kind kind : kKills) {
      run({.script = {{.operation = number, .kind = kind}}});
    }
  }
  print("kills", operations);
  EXPECT_GE(runs_, operations * kKills.size() / stride());
}

TEST_F(ExhaustiveTest, ThePowerGoesAtEveryOperation) {
  const std::size_t operations = run({}).operations.size();
  for (std::uint64_t number = 1; number <= operations; number += stride()) {
    for (const Kind kind : kPowerLosses) {
      for (std::uint64_t loss = 0; loss < kPowerLossKinds; ++loss) {
        run({.script = {{.operation = number, .kind = kind}}, .power_loss = static_cast<PowerLoss>(loss)});
      }
    }
  }
  print("power losses", operations);
  EXPECT_GE(runs_, operations * kPowerLosses.size() * kPowerLossKinds / stride());
}

// The first end takes turns, and so does the second; every operation of the recovery in between is hit.
TEST_F(ExhaustiveTest, EveryOperationOfTheRecoveryThatFollowsFailsOrIsTheNextEnd) {
  constexpr std::array kFirst{Kind::power_loss_within, Kind::kill_after, Kind::power_loss_after};
  constexpr std::array kSecond{Kind::power_loss_before, Kind::kill_within, Kind::power_loss_after,
                               Kind::error, Kind::power_loss_within};
  const std::size_t operations = run({}).operations.size();
  std::uint64_t turn = 0;
  std::uint64_t recoveries = 0;
  for (std::uint64_t number = 1; number <= operations; number += stride()) {
    ShortRunOptions options{.script = {{.operation = number, .kind = kFirst[number % kFirst.size()]}},
                            .power_loss = static_cast<PowerLoss>(number / 3 % kPowerLossKinds)};
    const ShortRunResult once = run(options);
    const auto started = std::ranges::upper_bound(once.started_at, number);
    if (started == once.started_at.end()) {
      continue;
    }
    ++recoveries;
    options.script.emplace_back();
    for (std::uint64_t nested = number + 1; nested <= *started; nested += stride()) {
      options.script.back() = {.operation = nested, .kind = kSecond[turn++ % kSecond.size()]};
      run(options);
    }
  }
  print("operations of recoveries", turn);
  EXPECT_GE(recoveries, (operations - 5) / stride());
  EXPECT_GE(turn * stride(), recoveries * 5);
}

// Everything that can happen to an operation, ends of the process and of the power included.
std::vector<ScriptedFault> fates_of(DiskOperation operation, std::uint64_t number) {
  std::vector<ScriptedFault> fates = failures_of(operation, number);
  for (const Kind kind : {Kind::kill_within, Kind::power_loss_before, Kind::power_loss_within}) {
    fates.push_back({.operation = number, .kind = kind});
  }
  return fates;
}

// What fails first and how takes turns, and so does what fails then; what comes in between is near more often
// than far.
TEST_F(ExhaustiveTest, TwoOperationsFail) {
  constexpr std::array<std::uint64_t, 10> kApart{1, 2, 3, 4, 6, 9, 14, 22, 40, 80};
  const auto operations = run({}).operations;
  std::uint64_t turn = 0;
  for (std::uint64_t number = 1; number <= operations.size(); number += stride()) {
    const auto first = failures_of(operations[number - 1], number);
    ShortRunOptions options{.script = {first[turn % first.size()]}, .evict = number % 2 == 0};
    const ShortRunResult once = run(options);
    options.script.emplace_back();
    for (const std::uint64_t apart : kApart) {
      const std::uint64_t second = number + apart;
      if (second <= once.operations.size()) {
        const auto fates = fates_of(once.operations[second - 1], second);
        options.script.back() = fates[turn / 3 % fates.size()];
        options.power_loss = static_cast<PowerLoss>(turn % kPowerLossKinds);
        run(options);
        ++turn;
      }
    }
  }
  print("two failures", turn);
  EXPECT_GE(turn * stride(), operations.size() * 8);
}

}  // namespace
}  // namespace booblik::sim
