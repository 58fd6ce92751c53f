#include <exception>
#include <iostream>

#include "cli/bench/bench.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/consume.h"
#include "cli/examples.h"
#include "cli/produce.h"
#include "cli/serve.h"
#include "cli/topics.h"
#include "cli/version.h"

namespace {

int run(int argc, char** argv) {
  CLI::App program("booblik: a log broker for one machine\n", "booblik");
  program.set_version_flag("--version", "booblik " + std::string(booblik::cli::version()));
  program.footer(
      "`booblik COMMAND --help` has the options and examples of a command.\n"
      "Exit codes: 0 ok, 1 refused, 2 wrong usage or configuration, 3 no connection.");
  booblik::cli::Commands commands(program);
  booblik::cli::add_serve(commands);
  booblik::cli::add_produce(commands);
  booblik::cli::add_consume(commands);
  booblik::cli::add_topics(commands);
  booblik::cli::add_health(commands);
  booblik::cli::add_bench(commands);
  booblik::cli::add_examples(commands);
  booblik::cli::add_version(commands);
  booblik::cli::add_completion(commands);
  return static_cast<int>(commands.run(argc, argv));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "booblik: " << error.what() << '\n';
    return static_cast<int>(booblik::cli::ExitCode::refused);
  }
}
