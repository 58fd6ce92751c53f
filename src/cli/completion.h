// `booblik completion SHELL`: what a shell has to know to complete booblik's commands, options and their
// values, made from the command line that the program itself parses.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace booblik::cli {

// The command line as the shells see it.
struct OptionShape {
  std::vector<std::string> names;  // with their dashes
  std::string help;                // one line
  bool takes_value = false;
  std::vector<std::string> choices;  // the values, if they can be listed
  bool is_file = false;              // the value may be a path
};

struct CommandShape {
  std::string name;
  std::string summary;
  std::vector<OptionShape> options;
};

// The first is the program itself.
[[nodiscard]] std::vector<CommandShape> shape_of(const CLI::App& program);

[[nodiscard]] std::string bash_completion(const std::vector<CommandShape>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CommandShape>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CommandShape>& commands);

// To be added last: it knows what is there when it runs.
void add_completion(Commands& commands);

}  // namespace booblik::cli
