#include "cli/serve.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "cli/broker_process.h"
#include "cli/configuration.h"
#include "cli/process_input.h"
#include "cli/properties.h"

namespace booblik::cli {
namespace {

struct ServeOptions {
  std::string config_file;
  bool print_config = false;
  std::vector<std::pair<const Setting*, std::string>> flags;
};

ExitCode refuse(const std::vector<std::string>& problems) {
  fmt::print(stderr, "booblik serve: not started, {} in the configuration:\n",
             problems.size() == 1 ? "1 problem" : fmt::format("{} problems", problems.size()));
  for (const std::string& problem : problems) {
    fmt::print(stderr, "  {}\n", problem);
  }
  return ExitCode::usage;
}

ExitCode serve(ServeOptions& options) {
  ConfigurationSources sources{
      .file = {}, .environment = environment_variables(), .flags = std::move(options.flags)};
  std::vector<std::string> problems;
  if (!options.config_file.empty()) {
    auto text = read_file(options.config_file, kPropertiesBytesMax);
    if (text) {
      sources.file = {options.config_file, std::move(*text)};
    } else {
      problems.push_back("flag --config: " + text.error().message);
    }
  }
  auto configuration = configure(sources);
  if (!configuration) {
    problems.insert(problems.end(), configuration.error().begin(), configuration.error().end());
  }
  if (!problems.empty()) {
    return refuse(problems);
  }
  for (const std::string& warning : configuration->warnings) {
    fmt::print(stderr, "booblik serve: {}\n", warning);
  }
  if (options.print_config) {
    fmt::print("{}", describe(*configuration, Shown::all));
    return ExitCode::ok;
  }
  return run_broker(std::move(*configuration));
}

}  // namespace

void add_serve(Commands& commands) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App& app = commands.add(
      {.name = "serve",
       .summary = "Run the broker",
       .examples =
           "  booblik serve                                    on 127.0.0.1:9092, data in ./data, topic "
           "default\n"
           "  booblik serve --topics orders:3,clicks:1 --data-dir /var/lib/booblik\n"
           "  booblik serve --config booblik.properties --print-config\n"
           "  BOOBLIK_RETENTION_MILLIS=7d booblik serve\n\n"
           "Each setting is also a key of the file (booblik.data.dir) and a variable (BOOBLIK_DATA_DIR);\n"
           "flags beat variables beat the file. SIGTERM or SIGINT stops in good order, a second one at "
           "once.\n"
           "docs/configuration.md has the whole story.\n"},
      [options] { return serve(*options); });
  app.add_option("--config", options->config_file, "Properties file to read settings from")
      ->type_name("FILE");
  app.add_flag("--print-config", options->print_config, "Show every value and where it comes from, and exit");
  const broker::Options defaults;
  for (const Setting& setting : settings()) {
    const std::string range = setting.range();
    std::string help(setting.help);
    if (setting.has_effect()) {
      help += fmt::format(" [{}{}{}]", setting.value(defaults), range.empty() ? "" : "; ", range);
    }
    app.add_option_function<std::string>(
           setting.flag(),
           [options, &setting](const std::string& value) { options->flags.emplace_back(&setting, value); },
           help)
        ->type_name("")
        ->take_last()  // so that a script may put its user's flags behind its own
        ->group("Settings [default; range]");
  }
}

}  // namespace booblik::cli
