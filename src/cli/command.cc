#include "cli/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <utility>

#include "cli/suggest.h"
#include "cli/terminal.h"

namespace booblik::cli {

ExitCode fail_command(std::string_view command, std::string_view message, ExitCode code) {
  const bool colours = error_terminal().colours;
  fmt::print(stderr, "{}booblik {}:{} {}\n", colours ? "\x1b[1;31m" : "", command, colours ? "\x1b[0m" : "",
             message);
  return code;
}

ExitCode fail_usage(std::string_view command, std::string_view message) {
  fail_command(command, message, ExitCode::usage);
  fmt::print(stderr, "`booblik {} --help` shows what it takes.\n", command);
  return ExitCode::usage;
}

CLI::App& Commands::add(Description description, Run run) {
  CLI::App* app = program_.add_subcommand(description.name, description.summary);
  app->footer("Examples:\n" + description.examples);
  commands_.push_back({app, std::move(run)});
  return *app;
}

ExitCode Commands::run(int argc, const char* const* argv) {
  // Words that nobody takes are reported below, with a better sentence than the library's.
  program_.allow_extras();
  try {
    program_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(error);
  }
  Command* command = chosen();
  return command == nullptr ? no_command() : command->run();
}

Commands::Command* Commands::chosen() {
  for (Command& command : commands_) {
    if (command.app->parsed()) {
      return &command;
    }
  }
  return nullptr;
}

ExitCode Commands::explain(const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    program_.exit(error, std::cout, std::cerr);  // --help or --version
    return ExitCode::ok;
  }
  const Command* command = chosen();
  if (command == nullptr) {
    fmt::print(stderr, "booblik: {}\n`booblik --help` lists the commands.\n", error.what());
    return ExitCode::usage;
  }
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    return fail_usage(command->app->get_name(), error.what());
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : command->app->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  std::string message;
  for (const std::string& extra : command->app->remaining()) {
    const bool is_flag = extra.starts_with('-');
    const std::string flag = extra.substr(0, extra.find('='));
    message += message.empty() ? "" : "; ";
    message += is_flag ? fmt::format("unknown option {}{}", flag, did_you_mean(flag, flags))
                       : fmt::format("unexpected argument '{}'", extra);
  }
  return fail_usage(command->app->get_name(), message);
}

ExitCode Commands::no_command() {
  const std::vector<std::string> extras = program_.remaining();
  if (extras.empty()) {
    fmt::print(stderr, "{}", program_.help());
    return ExitCode::usage;
  }
  std::vector<std::string> known;
  for (const Command& command : commands_) {
    known.push_back(command.app->get_name());
  }
  const std::string& word = extras.front();
  const char* kind = word.starts_with('-') ? "option" : "command";
  fmt::print(stderr, "booblik: unknown {} '{}'{}\n`booblik --help` lists the commands.\n", kind, word,
             did_you_mean(word, known));
  return ExitCode::usage;
}

}  // namespace booblik::cli
