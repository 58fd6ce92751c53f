// The parts of booblik-sim that a process-level test cannot corner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/program/determinism.h"
#include "sim/program/json_trace.h"
#include "sim/program/report.h"
#include "sim/program/shrink.h"

namespace booblik::sim {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

Instant at_nanoseconds(std::int64_t count) {
  return Instant(Duration(count));
}

TEST(FirstDifferenceTest, IsTheFirstEventThatDiffersCountedFromOne) {
  EXPECT_EQ(first_difference({1, 2, 3}, {1, 2, 3}), std::nullopt);
  EXPECT_EQ(first_difference({1, 2, 3}, {9, 2, 3}), 1U);
  EXPECT_EQ(first_difference({1, 2, 3}, {1, 2, 9}), 3U);
}

TEST(FirstDifferenceTest, ARunThatEndsEarlierDiffersBehindItsEnd) {
  EXPECT_EQ(first_difference({1, 2}, {1, 2, 3}), 3U);
  EXPECT_EQ(first_difference({1, 2, 3}, {}), 1U);
}

TEST(ExplainDifferenceTest, ShowsWhereTheEventWasWhenTracesAgree) {
  env::StackPool stacks{env::StackPool::Options{}};
  Plan plan = draw_plan(3, Mode::calm);
  plan.load_millis = 500;
  const std::string text = explain_difference(stacks, 3, plan, 40);
  EXPECT_THAT(text, HasSubstr("agree; around that event they say:"));
  EXPECT_THAT(text, ContainsRegex("#3[0-9] "));  // not every event has a line of its own
  EXPECT_THAT(text, ContainsRegex("#4[0-9] "));
}

TEST(SeedReportTest, GoesThroughJson) {
  SeedReport report;
  report.seed = ~std::uint64_t{0};
  report.outcome = Outcome::liveness;
  report.reason = "two\nlines, \"quoted\", and a byte \xFF that is no text";
  report.fingerprint = 0xFEDCBA9876543210U;
  report.events = 5;
  report.virtual_nanoseconds = 1'500'000'000;
  report.checks["a"] = 7;
  report.probes["b"] = 8;
  const std::string line = to_json(report);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = from_json(line);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->seed, report.seed);
  EXPECT_EQ(back->outcome, report.outcome);
  EXPECT_THAT(back->reason, HasSubstr("two\nlines, \"quoted\""));
  EXPECT_EQ(back->fingerprint, report.fingerprint);
  EXPECT_EQ(back->virtual_nanoseconds, report.virtual_nanoseconds);
  EXPECT_EQ(back->checks, report.checks);
  EXPECT_EQ(back->probes, report.probes);
}

TEST(SeedReportTest, ALineOfSomebodyElseIsDamaged) {
  for (const char* line : {"", "hello", "{}", "{\"seed\":1", "[1]"}) {
    const auto report = from_json(line);
    ASSERT_FALSE(report.has_value()) << line;
    EXPECT_EQ(report.error().code, ErrorCode::damaged);
  }
}

TEST(ExitCodeTest, EachOutcomeHasItsOwn) {
  EXPECT_EQ(exit_code_of(Outcome::ok), 0);
  EXPECT_EQ(exit_code_of(Outcome::vacuous), 0);
  EXPECT_EQ(exit_code_of(Outcome::crash), 1);
  EXPECT_EQ(exit_code_of(Outcome::safety), 2);
  EXPECT_EQ(exit_code_of(Outcome::liveness), 3);
  EXPECT_EQ(exit_code_of(Outcome::nondeterminism), 4);
}

TEST(JsonTraceTest, IsJsonWhateverTheTextsHold) {
  std::string text;
  {
    JsonTrace trace([&text](std::string_view part) { text += part; });
    trace.write({.kind = TraceEvent::Kind::span,
                 .begin = at_nanoseconds(2'500),
                 .end = at_nanoseconds(10'000),
                 .track = {.process = 2, .fiber = 7, .name = "a \"fiber\"\\"},
                 .category = "disk",
                 .what = "line\nend, tab\t and \xC3\x28",
                 .event = 9});
    trace.write({.kind = TraceEvent::Kind::mark,
                 .begin = at_nanoseconds(11'007),
                 .end = at_nanoseconds(11'007),
                 .track = {.process = 0, .fiber = 0, .name = "machine"},
                 .category = "process",
                 .what = "machine loses power",
                 .event = 10});
  }
  const auto events = nlohmann::json::parse(text);
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0]["args"]["name"], "broker, life 2");
  EXPECT_EQ(events[1]["args"]["name"], "a \"fiber\"\\ 7");
  EXPECT_EQ(events[2]["ts"], 3.5) << "behind the turn that asked for it";
  EXPECT_EQ(events[2]["dur"], 6.5);
  EXPECT_EQ(events[2]["args"]["event"], 9);
  EXPECT_EQ(events[5]["ph"], "i");
  EXPECT_EQ(events[5]["ts"], 11.007);
  EXPECT_EQ(events[5]["s"], "g");
}

TEST(JsonTraceTest, WithoutEventsItIsAnEmptyArray) {
  std::string text;
  {
    const JsonTrace trace([&text](std::string_view part) { text += part; });
  }
  EXPECT_EQ(nlohmann::json::parse(text).size(), 0U);
}

TEST(TextTraceTest, AnEventIsALine) {
  std::string text;
  TextTrace trace([&text](std::string_view part) { text += part; });
  trace.write({.kind = TraceEvent::Kind::span,
               .begin = at_nanoseconds(2'500'000),
               .end = at_nanoseconds(2'600'000),
               .track = {.process = 2, .fiber = 7, .name = "writer"},
               .category = "log",
               .what = "one\ntwo",
               .event = 9});
  EXPECT_EQ(text, "        2500 us  #9       log      writer 7                 one two (100 us)\n");
}

TEST(SimplestTest, HasNoFaultInIt) {
  Plan plan;
  for (const auto& [name, value] : plan.fields()) {
    if (std::string_view(name).ends_with("_odds")) {
      EXPECT_EQ(simplest(name), 0) << name;
    }
    *value = simplest(name);
  }
  EXPECT_EQ(plan.problem(), "");
}

TEST(PlanTest, EveryDrawnPlanKeepsTheLimits) {
  for (const Mode mode : {Mode::any, Mode::crash, Mode::network, Mode::calm, Mode::rot}) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const Plan plan = draw_plan(seed, mode);
      EXPECT_EQ(plan.problem(), "") << "seed " << seed << " mode " << to_text(mode);
      EXPECT_EQ(plan.planted_fault, 0);
    }
  }
}

}  // namespace
}  // namespace booblik::sim
