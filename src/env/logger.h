// Lines for the people who run the broker.
#pragma once

#include <string_view>

namespace booblik::env {

enum class Level { info, warning, error };

class Logger {
 public:
  virtual ~Logger() = default;

  // One line, without a line end. Must not park.
  virtual void write(Level level, std::string_view line) = 0;
};

}  // namespace booblik::env
