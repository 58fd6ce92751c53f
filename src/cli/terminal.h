// What standard error is connected to, and notes for the person in front of it.
#pragma once

#include <string_view>

namespace booblik::cli {

struct Terminal {
  bool interactive = false;  // somebody is watching: progress may be drawn
  bool colours = false;      // and has not said NO_COLOR (https://no-color.org) or TERM=dumb
};

[[nodiscard]] Terminal error_terminal();
[[nodiscard]] bool output_is_terminal();

// "booblik COMMAND: TEXT" to standard error, over a progress bar if there is one.
void print_note(std::string_view command, std::string_view text);

}  // namespace booblik::cli
