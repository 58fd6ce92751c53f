#include "cli/produce.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "cli/produce_run.h"
#include "cli/text.h"
#include "wire/topic_name.h"

namespace booblik::cli {
namespace {

constexpr const char* kExamples =
    "  echo hello | booblik produce default\n"
    "  booblik produce orders --file orders.txt --acks forced\n"
    "  booblik produce orders --key-delimiter : <<< 'user-7:paid'     # the key picks the partition\n"
    "  booblik produce images --input whole --file a.png --file b.png # a record per file\n"
    "  tail -f app.log | booblik produce logs --skip-empty\n";

// Takes one of the names and leaves its number to be stored.
template <class Choice>
CLI::Validator one_of(std::map<std::string, Choice> choices) {
  const auto choose = [choices](std::string& text) -> std::string {
    if (const auto found = choices.find(text); found != choices.end()) {
      text = std::to_string(static_cast<int>(found->second));
      return {};
    }
    std::string names;
    for (const auto& [name, choice] : choices) {
      names += (names.empty() ? "" : ", ") + name;
    }
    return fmt::format("{} is none of {}", cli::in_quotes(text), names);
  };
  return {choose, "", ""};
}

void add_input_options(CLI::App& app, ProduceOptions& options) {
  const std::map<std::string, InputMode> modes{{"lines", InputMode::lines},
                                               {"length-prefixed", InputMode::length_prefixed},
                                               {"whole", InputMode::whole}};
  app.add_option("TOPIC", options.topic, "The topic to write to")->required();
  app.add_option("--file", options.files, "Read from this file instead of standard input; may be given again")
      ->type_name("PATH")
      ->expected(1)
      ->take_all();
  app.add_option(
         "--input", options.input,
         "lines: a record per line (the default); length-prefixed: int32 big-endian, then so many bytes;\n"
         "whole: each input is one record")
      ->transform(one_of(modes))
      ->type_name("lines|length-prefixed|whole");
  app.add_flag("--skip-empty", options.skip_empty, "Leave empty records out; otherwise they are an error");
}

void add_placing_options(CLI::App& app, ProduceOptions& options) {
  auto* partition =
      app.add_option("--partition", options.partition, "Write to this partition; otherwise to all in turn")
          ->type_name("P")
          ->check(CLI::Range(0, INT32_MAX).description(""));
  auto* key = app.add_option("--key", options.key, "Choose the partition by this key")->type_name("KEY");
  auto* delimiter = app.add_option("--key-delimiter", options.key_delimiter,
                                   "Choose it by the key in front of this delimiter in each record")
                        ->type_name("TEXT");
  app.add_flag("--keep-key", options.keep_key, "Leave the key and its delimiter in the record")
      ->needs(delimiter);
  partition->excludes(key)->excludes(delimiter);
  key->excludes(delimiter);
}

void add_sending_options(CLI::App& app, ProduceOptions& options) {
  const std::map<std::string, wire::AckPolicy> policies{{"none", wire::AckPolicy::none},
                                                        {"written", wire::AckPolicy::written},
                                                        {"forced", wire::AckPolicy::forced}};
  app.add_option("--acks", options.acks,
                 "none: never answered; written (the default): survives the process, not the power;\n"
                 "forced: survives the power")
      ->transform(one_of(policies))
      ->type_name("none|written|forced");
  app.add_option("--batch-bytes", options.batch_bytes, "Send a batch at so many bytes")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{wire::kMaxFrameBytes}).description(""))
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--batch-records", options.batch_records, "... or at so many records")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--linger-ms", options.linger_ms, "... or when its first record is so old")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{3'600'000}).description(""))
      ->type_name("MS")
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight, "Batches sent and not answered yet, at most")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void add_produce(Commands& commands) {
  const auto options = std::make_shared<ProduceOptions>();
  CLI::App& app =
      commands.add({.name = "produce",
                    .summary = "Write records from standard input or files to a topic",
                    .examples = kExamples},
                   [options] {
                     if (const auto valid = wire::check_topic_name(options->topic); !valid) {
                       return fail_usage("produce", valid.error().message);
                     }
                     if (options->key_delimiter && options->key_delimiter->empty()) {
                       return fail_usage("produce", "--key-delimiter must not be empty");
                     }
                     return run_client("produce", options->broker, [&options](const ClientContext& context) {
                       return run_produce(context, *options);
                     });
                   });
  add_input_options(app, *options);
  add_placing_options(app, *options);
  add_sending_options(app, *options);
  app.add_flag("--quiet,-q", options->quiet, "No summary");
  add_broker_options(app, options->broker);
  add_reconnect_option(app, options->broker);
}

}  // namespace booblik::cli
