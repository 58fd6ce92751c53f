// The configuration of a broker out of its sources: flags beat environment variables beat the file beat the
// defaults.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/options.h"
#include "cli/settings.h"

namespace booblik::cli {

// What was given, as text.
struct ConfigurationSources {
  struct File {
    std::string path;  // for messages
    std::string text;  // Java properties (properties.h)
  };
  std::optional<File> file;
  // All variables of the process; those that begin with BOOBLIK_ count.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::pair<const Setting*, std::string>> flags;
};

struct Configuration {
  broker::Options options;
  std::vector<std::string>
      sources;  // where the value of each of settings() comes from: "default", "file x.properties:3", ...
  std::vector<std::string> warnings;  // what is accepted and does not do what one may expect
};

// Pure. On failure every problem of all sources, a sentence each: which setting, where it was said, what to
// write. A value that a stronger source replaces has to be right as well. At most kProblemsMax sentences.
[[nodiscard]] std::expected<Configuration, std::vector<std::string>> configure(
    const ConfigurationSources& sources);

inline constexpr std::size_t kProblemsMax = 100;

// BOOBLIK_* variables that are not settings of the broker: commands read them.
[[nodiscard]] bool is_command_variable(std::string_view variable);

enum class Shown {
  all,        // for --print-config
  essential,  // where it listens and writes, and what is not the default
};

// Keys, values and their sources, a line each.
[[nodiscard]] std::string describe(const Configuration& configuration, Shown shown);

}  // namespace booblik::cli
