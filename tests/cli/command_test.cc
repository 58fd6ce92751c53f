#include "cli/command.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace booblik::cli {
namespace {

struct Greeting {
  std::string name;
};

// What a run of `booblik` with one command "greet" gives.
struct Outcome {
  ExitCode code;
  std::vector<std::string> greeted;
  std::string out;
  std::string err;
};

Outcome run(std::vector<const char*> arguments) {
  CLI::App program("test", "booblik");
  Commands commands(program);
  Outcome outcome{};
  auto greeting = std::make_shared<Greeting>();
  CLI::App& app =
      commands.add({.name = "greet", .summary = "Greet somebody", .examples = "  booblik greet --name X\n"},
                   [greeting, &outcome] {
                     outcome.greeted.push_back(greeting->name);
                     return ExitCode::connection;
                   });
  app.add_option("--name", greeting->name, "whom")->required();
  arguments.insert(arguments.begin(), "booblik");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.code = commands.run(static_cast<int>(arguments.size()), arguments.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(Commands, RunTheChosenOneAndReturnItsCode) {
  const Outcome outcome = run({"greet", "--name", "world"});
  EXPECT_EQ(outcome.code, ExitCode::connection);
  EXPECT_EQ(outcome.greeted, std::vector<std::string>{"world"});
}

TEST(Commands, ExplainUnknownOptionWithSuggestion) {
  const Outcome outcome = run({"greet", "--name", "world", "--nmae=x"});
  EXPECT_EQ(outcome.code, ExitCode::usage);
  EXPECT_TRUE(outcome.greeted.empty());
  EXPECT_NE(outcome.err.find("booblik greet: unknown option --nmae (did you mean --name?)"),
            std::string::npos);
}

TEST(Commands, ExplainMissingValueExtraWordAndUnknownCommand) {
  EXPECT_EQ(run({"greet"}).code, ExitCode::usage);
  EXPECT_NE(run({"greet"}).err.find("--name"), std::string::npos);
  const Outcome extra = run({"greet", "--name", "x", "more"});
  EXPECT_EQ(extra.code, ExitCode::usage);
  EXPECT_NE(extra.err.find("unexpected argument 'more'"), std::string::npos);
  const Outcome unknown = run({"gret"});
  EXPECT_EQ(unknown.code, ExitCode::usage);
  EXPECT_NE(unknown.err.find("unknown command 'gret' (did you mean greet?)"), std::string::npos);
}

TEST(Commands, NothingAskedIsWrongUsageButHelpIsNot) {
  const Outcome nothing = run({});
  EXPECT_EQ(nothing.code, ExitCode::usage);
  EXPECT_NE(nothing.err.find("Greet somebody"), std::string::npos);
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.code, ExitCode::ok);
  EXPECT_NE(help.out.find("Greet somebody"), std::string::npos);
  const Outcome command_help = run({"greet", "--help"});
  EXPECT_EQ(command_help.code, ExitCode::ok);
  EXPECT_NE(command_help.out.find("booblik greet --name X"), std::string::npos);
  EXPECT_TRUE(command_help.greeted.empty());
}

}  // namespace
}  // namespace booblik::cli
