// How a subcommand joins the `booblik` program. Each one lives in a file of its own and offers a function
//   void add_topics(Commands& commands);
// that main.cc calls. It hands over its name, help and examples and gets the CLI11 app to put its options on:
//   auto options = std::make_shared<TopicsOptions>();
//   CLI::App& app = commands.add({...}, [options] { return list_topics(*options); });
//   app.add_option("--broker", options->broker, "...");
// The options stay alive because the function that runs the command holds them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace booblik::cli {

// The exit codes of every command; docs/configuration.md and `booblik --help` name them.
enum class ExitCode : int {
  ok = 0,
  refused = 1,     // by the broker; serve: it could not start, or failed while running
  usage = 2,       // flags, arguments or configuration are wrong
  connection = 3,  // no broker there, or it went away
};

// Prints "booblik COMMAND: MESSAGE" to stderr, and returns `code`: for everything that ends a command.
ExitCode fail_command(std::string_view command, std::string_view message, ExitCode code);

// For what is wrong with the arguments and only seen after parsing: fail_command with ExitCode::usage, and
// where the help is.
ExitCode fail_usage(std::string_view command, std::string_view message);

class Commands {
 public:
  struct Description {
    std::string name;
    std::string summary;   // one line, for `booblik --help`
    std::string examples;  // lines of shell, shown under `booblik NAME --help`
  };
  // Runs the command once its options are parsed. Nothing else of the program runs beside it.
  using Run = std::move_only_function<ExitCode()>;

  // `program` is borrowed and outlives this.
  explicit Commands(CLI::App& program) : program_(program) {}
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // The app is owned by the program. Names are unique.
  CLI::App& add(Description description, Run run);

  // Everything that was added so far.
  [[nodiscard]] const CLI::App& program() const { return program_; }

  // Parses the command line, runs what it asks for and returns the exit code of the process. Wrong usage is
  // explained on stderr; help goes to stdout. Called once.
  ExitCode run(int argc, const char* const* argv);

 private:
  struct Command {
    CLI::App* app;
    Run run;
  };

  [[nodiscard]] Command* chosen();
  [[nodiscard]] ExitCode explain(const CLI::ParseError& error);
  [[nodiscard]] ExitCode no_command();

  CLI::App& program_;
  std::vector<Command> commands_;
};

}  // namespace booblik::cli
