#include "cli/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/properties.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "wire/protocol.h"

namespace booblik::cli {
namespace {

constexpr std::string_view kDefault = "default";
constexpr std::string_view kVariablePrefix = "BOOBLIK_";
constexpr std::array<std::string_view, 1> kCommandVariables = {"BOOBLIK_BROKER"};

std::vector<std::string> spellings(std::string (Setting::*spelling)() const) {
  std::vector<std::string> all;
  for (const Setting& setting : settings()) {
    all.push_back((setting.*spelling)());
  }
  return all;
}

// Applies one source after the other, the weakest first, and collects what is wrong.
class Configurator {
 public:
  Configurator() { configuration_.sources.assign(settings().size(), std::string(kDefault)); }

  void apply_file(const ConfigurationSources::File& file) {
    const Properties properties = parse_properties(file.text);
    for (const PropertiesProblem& problem : properties.problems) {
      report(fmt::format("{}:{}: {}", file.path, problem.line, problem.message));
    }
    std::map<std::string, int> first_lines;
    for (const Property& property : properties.entries) {
      const std::string where = fmt::format("{}:{}", file.path, property.line);
      const auto [first, is_new] = first_lines.emplace(property.key, property.line);
      if (!is_new) {
        report(fmt::format("{}: {} is already set in line {}; keep one of them", where,
                           in_quotes(property.key), first->second));
        continue;
      }
      const Setting* setting = find_by_key(property.key);
      if (setting == nullptr) {
        report(
            fmt::format("{}: unknown key {}{}", where, in_quotes(property.key), suggest_key(property.key)));
        continue;
      }
      apply(*setting, property.value, setting->key(), "file " + where);
    }
  }

  void apply_environment(const std::vector<std::pair<std::string, std::string>>& environment) {
    for (const auto& [variable, value] : environment) {
      if (!variable.starts_with(kVariablePrefix) || is_command_variable(variable)) {
        continue;
      }
      const Setting* setting = find_by_environment_variable(variable);
      if (setting == nullptr) {
        report(
            fmt::format("unknown environment variable {}{}; unset it", variable, suggest_variable(variable)));
        continue;
      }
      apply(*setting, value, variable, "environment " + variable);
    }
  }

  void apply_flags(const std::vector<std::pair<const Setting*, std::string>>& flags) {
    for (const auto& [setting, value] : flags) {
      apply(*setting, value, setting->flag(), "flag " + setting->flag());
    }
  }

  // What no single value can be wrong about.
  void check_together() {
    const broker::Options& options = configuration_.options;
    const std::int64_t metadata = full_metadata_frame_bytes(options.topics);
    if (metadata > wire::kMaxFrameBytes) {
      report(
          fmt::format("booblik.topics ({}): {} partitions make a METADATA answer of {} bytes; clients take "
                      "at most {}: configure "
                      "about {} partitions",
                      source_of("topics"), partition_count(options.topics), metadata, wire::kMaxFrameBytes,
                      partition_count(options.topics) * wire::kMaxFrameBytes / metadata));
    }
  }

  std::expected<Configuration, std::vector<std::string>> finish() {
    if (problems_.empty()) {
      return std::move(configuration_);
    }
    if (left_out_ > 0) {
      problems_.push_back(fmt::format("and {} more", left_out_));
    }
    return std::unexpected(std::move(problems_));
  }

 private:
  // One place is kept for the count of the rest.
  [[nodiscard]] bool is_full() const { return problems_.size() == kProblemsMax - 1; }

  void report(std::string problem) {
    if (is_full()) {
      ++left_out_;
    } else {
      problems_.push_back(std::move(problem));
    }
  }

  // For "port" the answer is "booblik.port", for a slip of the pen the nearest key. Not for what nobody will
  // read: a large file of nonsense would take its time.
  [[nodiscard]] std::string suggest_key(const std::string& key) const {
    if (is_full()) {
      return "";
    }
    if (const Setting* unprefixed = find_by_key("booblik." + key)) {
      return fmt::format(" (did you mean {}?)", unprefixed->key());
    }
    return did_you_mean(key, keys_);
  }

  [[nodiscard]] std::string suggest_variable(const std::string& variable) const {
    return is_full() ? "" : did_you_mean(variable, variables_);
  }

  void apply(const Setting& setting, const std::string& value, const std::string& spelling,
             const std::string& source) {
    if (const auto set = setting.set(configuration_.options, value); !set) {
      for (const std::string& problem : set.error()) {
        const bool names_itself = source.ends_with(spelling);
        report(names_itself ? fmt::format("{}: {}", source, problem)
                            : fmt::format("{} ({}): {}", spelling, source, problem));
      }
      return;
    }
    configuration_.sources[static_cast<std::size_t>(&setting - settings().data())] = source;
    if (!setting.has_effect()) {
      configuration_.warnings.push_back(
          fmt::format("{} ({}) has no effect here; it can be removed", spelling, source));
    }
  }

  [[nodiscard]] const std::string& source_of(std::string_view name) const {
    const auto found = std::ranges::find(settings(), name, &Setting::name);
    return configuration_.sources[static_cast<std::size_t>(found - settings().begin())];
  }

  const std::vector<std::string> keys_ = spellings(&Setting::key);
  const std::vector<std::string> variables_ = spellings(&Setting::environment_variable);
  Configuration configuration_;
  std::vector<std::string> problems_;
  std::size_t left_out_ = 0;
};

}  // namespace

bool is_command_variable(std::string_view variable) {
  return std::ranges::find(kCommandVariables, variable) != kCommandVariables.end();
}

std::expected<Configuration, std::vector<std::string>> configure(const ConfigurationSources& sources) {
  Configurator configurator;
  if (sources.file) {
    configurator.apply_file(*sources.file);
  }
  configurator.apply_environment(sources.environment);
  configurator.apply_flags(sources.flags);
  configurator.check_together();
  return configurator.finish();
}

std::string describe(const Configuration& configuration, Shown shown) {
  constexpr std::array<std::string_view, 4> kEssential = {"bind.address", "port", "data.dir", "topics"};
  constexpr std::size_t kWidestValue = 40;  // a longer one pushes its own source aside, not everyone's
  struct Row {
    std::string key;
    std::string value;
    std::string source;
  };
  std::vector<Row> rows;
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    const std::string& source = configuration.sources[i];
    if (shown == Shown::essential && source == kDefault &&
        std::ranges::find(kEssential, setting.name) == kEssential.end()) {
      continue;
    }
    rows.push_back(
        {setting.key(), setting.has_effect() ? setting.value(configuration.options) : "(no effect)", source});
    key_width = std::max(key_width, rows.back().key.size());
    value_width = std::max(value_width, std::min(rows.back().value.size(), kWidestValue));
  }
  std::string out;
  for (const Row& row : rows) {
    out += fmt::format("{:<{}}  {:<{}}  {}\n", row.key, key_width, row.value, value_width, row.source);
  }
  return out;
}

}  // namespace booblik::cli
