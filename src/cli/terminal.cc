#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace booblik::cli {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

Terminal error_terminal() {
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
  const bool interactive = ::isatty(STDERR_FILENO) == 1;
  return {.interactive = interactive && !dumb, .colours = interactive && !dumb && !is_set("NO_COLOR")};
}

bool output_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

void print_note(std::string_view command, std::string_view text) {
  const Terminal terminal = error_terminal();
  fmt::print(stderr, "{}{}booblik {}:{} {}\n", terminal.interactive ? "\r\x1b[K" : "",
             terminal.colours ? "\x1b[1m" : "", command, terminal.colours ? "\x1b[0m" : "", text);
}

}  // namespace booblik::cli
