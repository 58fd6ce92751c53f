#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <ranges>
#include <utility>

#include "cli/text.h"

namespace booblik::cli {
namespace {

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (!line.empty() && (line.back() == ' ' || line.back() == ';' || line.back() == ':')) {
    line.pop_back();
  }
  return line;
}

// The pieces of "none|written|forced"; nothing when one of them stands for something else, as N does.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  if (!type.contains('|')) {
    return choices;
  }
  for (const std::string_view piece : split(type, '|')) {
    const bool word = !piece.empty() && piece.front() != '-' &&
                      std::ranges::all_of(piece, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
    if (word) {
      choices.emplace_back(piece);
    }
  }
  return choices;
}

OptionShape shape_of(const CLI::Option& option) {
  OptionShape shape;
  for (const std::string& name : option.get_lnames()) {
    shape.names.push_back("--" + name);
  }
  for (const std::string& name : option.get_snames()) {
    shape.names.push_back("-" + name);
  }
  shape.help = first_line(option.get_description());
  shape.takes_value = option.get_items_expected_max() > 0;
  if (shape.takes_value) {
    const std::string type = option.get_type_name();
    shape.choices = choices_of(type);
    shape.is_file = type.empty() || type == "FILE" || type == "PATH";
  }
  return shape;
}

CommandShape shape_of_command(const CLI::App& app) {
  CommandShape shape{.name = app.get_name(), .summary = first_line(app.get_description()), .options = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      shape.options.push_back(shape_of(*option));
    }
  }
  return shape;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : between;
    text += word;
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<OptionShape>& options) {
  std::vector<std::string> names;
  for (const OptionShape& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> subcommands(const std::vector<CommandShape>& commands) {
  std::vector<std::string> names;
  for (const CommandShape& command : commands | std::views::drop(1)) {
    names.push_back(command.name);
  }
  return names;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string bash_values(const CommandShape& command) {
  std::string cases;
  for (const OptionShape& option : command.options) {
    if (!option.takes_value) {
      continue;
    }
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      patterns.push_back(fmt::format("'{} {}'", command.name, name));
    }
    const std::string action =
        !option.choices.empty()
            ? fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", joined(option.choices, " "))
        : option.is_file ? "COMPREPLY=($(compgen -f -- \"$current\"))"
                         : ":";
    cases += fmt::format("    {}) {}; return ;;\n", joined(patterns, "|"), action);
  }
  return cases;
}

// In single quotes, with what _arguments itself reads escaped.
std::string zsh_text(const std::string& text) {
  std::string escaped = replaced(text, "\\", "\\\\");
  for (const char* special : {"[", "]", ":"}) {
    escaped = replaced(escaped, special, std::string("\\").append(special));
  }
  return replaced(escaped, "'", "'\\''");
}

std::string zsh_options(const CommandShape& command) {
  std::string lines;
  for (const OptionShape& option : command.options) {
    const std::string value = !option.takes_value ? ""
                              : !option.choices.empty()
                                  ? fmt::format(":value:({})", joined(option.choices, " "))
                              : option.is_file ? ":file:_files"
                                               : ":value:";
    for (const std::string& name : option.names) {
      lines += fmt::format("        '{}[{}]{}' \\\n", name, zsh_text(option.help), value);
    }
  }
  return lines;
}

std::string fish_text(const std::string& text) {
  return replaced(replaced(text, "\\", "\\\\"), "'", "\\'");
}

std::string fish_option(const OptionShape& option) {
  std::string words;
  for (const std::string& name : option.names) {
    words += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                    : fmt::format(" -s {}", name.substr(1));
  }
  if (option.takes_value) {
    words += option.is_file ? " -r -F" : " -x";
  }
  if (!option.choices.empty()) {
    words += fmt::format(" -a '{}'", joined(option.choices, " "));
  }
  return fmt::format("{} -d '{}'", words, fish_text(option.help));
}

}  // namespace

std::vector<CommandShape> shape_of(const CLI::App& program) {
  std::vector<CommandShape> commands{shape_of_command(program)};
  for (const CLI::App* app : program.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(shape_of_command(*app));
  }
  return commands;
}

std::string bash_completion(const std::vector<CommandShape>& commands) {
  std::string values;
  std::string words =
      fmt::format("    '') COMPREPLY=($(compgen -W '{} {}' -- \"$current\")) ;;\n",
                  joined(subcommands(commands), " "), joined(names_of(commands.front().options), " "));
  for (const CommandShape& command : commands | std::views::drop(1)) {
    values += bash_values(command);
    words += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$current\")) ;;\n", command.name,
                         joined(names_of(command.options), " "));
  }
  return fmt::format(R"(# bash completion for booblik, made by `booblik completion bash`
_booblik() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
      {}) command=$word; break ;;
    esac
  done
  case "$command $before" in
{}  esac
  case $command in
{}  esac
}}
complete -F _booblik booblik
)",
                     joined(subcommands(commands), "|"), values, words);
}

std::string zsh_completion(const std::vector<CommandShape>& commands) {
  std::string list;
  std::string cases;
  for (const CommandShape& command : commands | std::views::drop(1)) {
    list += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.summary));
    cases += fmt::format("    {})\n      _arguments \\\n{}        '*:argument:' ;;\n", command.name,
                         zsh_options(command));
  }
  return fmt::format(R"(#compdef booblik
# zsh completion for booblik, made by `booblik completion zsh`
_booblik() {{
  local -a commands
  commands=(
{})
  if (( CURRENT == 2 )); then
    _arguments \
{}        '*:argument:'
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_booblik "$@"
)",
                     list, zsh_options(commands.front()), cases);
}

std::string fish_completion(const std::vector<CommandShape>& commands) {
  std::string text =
      "# fish completion for booblik, made by `booblik completion fish`\ncomplete -c booblik -f\n";
  for (const OptionShape& option : commands.front().options) {
    text += fmt::format("complete -c booblik -n __fish_use_subcommand{}\n", fish_option(option));
  }
  for (const CommandShape& command : commands | std::views::drop(1)) {
    text += fmt::format("complete -c booblik -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                        fish_text(command.summary));
    for (const OptionShape& option : command.options) {
      text += fmt::format("complete -c booblik -n '__fish_seen_subcommand_from {}'{}\n", command.name,
                          fish_option(option));
    }
  }
  return text;
}

void add_completion(Commands& commands) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& app = commands.add(
      {.name = "completion",
       .summary = "Print the completion file of a shell",
       .examples = "  booblik completion bash > ~/.local/share/bash-completion/completions/booblik\n"
                   "  booblik completion zsh > ~/.zfunc/_booblik          # a folder of $fpath\n"
                   "  booblik completion fish > ~/.config/fish/completions/booblik.fish\n"},
      [shell, &commands] {
        const std::vector<CommandShape> shape = shape_of(commands.program());
        fmt::print("{}", *shell == "bash"  ? bash_completion(shape)
                         : *shell == "zsh" ? zsh_completion(shape)
                                           : fish_completion(shape));
        return ExitCode::ok;
      });
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace booblik::cli
