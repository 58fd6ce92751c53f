// Whatever stands in a configuration file, it is configured or refused with reasons.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "cli/configuration.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  cli::ConfigurationSources sources;
  sources.file = {"fuzz", std::string(reinterpret_cast<const char*>(data), size)};
  const auto configuration = cli::configure(sources);
  if (!configuration) {
    BOOBLIK_CHECK(!configuration.error().empty() && configuration.error().size() <= cli::kProblemsMax,
                  "a refusal has reasons, and not too many");
    return 0;
  }
  // What was taken can be written and read again.
  for (const cli::Setting& setting : cli::settings()) {
    const std::string value = setting.value(configuration->options);
    broker::Options options;
    BOOBLIK_CHECK(setting.set(options, value.substr(0, value.find(" ("))) || setting.name == "data.dir",
                  "the value of a setting is one that it takes");
  }
  static_cast<void>(cli::describe(*configuration, cli::Shown::all));
  return 0;
}
