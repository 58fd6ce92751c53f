#include "cli/consume.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/numbers.h"
#include "cli/consume_run.h"
#include "cli/quantity.h"
#include "cli/text.h"
#include "wire/topic_name.h"

namespace booblik::cli {
namespace {

constexpr const char* kExamples =
    "  booblik consume default                            # everything, then wait for more\n"
    "  booblik consume orders --exit-at-end > orders.txt\n"
    "  booblik consume orders --offset -10 --partition 0 --exit-at-end\n"
    "  booblik consume orders --offset end --follow --format '%t-%p @ %o: %s\\n'\n"
    "  booblik consume orders --count 1 --json\n"
    "  booblik consume orders --exit-at-end --position-store orders.position  # only what is new\n";

struct ConsumeFlags {
  ConsumeOptions options;
  std::string offset = "beginning";
  std::string partition = "all";
  std::string max_bytes = "1MiB";
  std::string format = "%s\\n";
  bool follow = false;
  bool json = false;
};

Result<client::Start> parse_start(std::string_view text) {
  using At = client::Start::At;
  if (text == "beginning") {
    return client::Start{At::beginning, 0};
  }
  if (text == "end") {
    return client::Start{At::end, 0};
  }
  const bool before_end = text.starts_with('-');
  const auto number = parse_number<std::int64_t>(before_end ? text.substr(1) : text);
  if (!number || *number < 0) {
    return fail(ErrorCode::invalid,
                fmt::format("--offset {}: write beginning, end, an offset, or -N for the last N "
                            "records of each partition",
                            in_quotes(text)));
  }
  return client::Start{before_end ? At::before_end : At::offset, *number};
}

Result<std::optional<std::int32_t>> parse_partition(std::string_view text) {
  if (text == "all") {
    return std::optional<std::int32_t>();
  }
  const auto number = parse_number<std::int32_t>(text);
  if (!number || *number < 0) {
    return fail(ErrorCode::invalid,
                fmt::format("--partition {}: write a partition's number, or all", in_quotes(text)));
  }
  return number;
}

Result<std::int32_t> parse_max_bytes(std::string_view text) {
  const auto bytes = parse_quantity(text, Unit::bytes);
  if (!bytes || *bytes < 1 || *bytes > wire::kMaxFetchPayloadBytes) {
    return fail(ErrorCode::invalid, fmt::format("--max-bytes {}: write a number of bytes from 1 to {}",
                                                in_quotes(text), wire::kMaxFetchPayloadBytes));
  }
  return static_cast<std::int32_t>(*bytes);
}

// What the flags say as text becomes what the command works with.
Result<RecordFormat> read_flags(ConsumeFlags& flags) {
  const auto topic = wire::check_topic_name(flags.options.topic);
  if (!topic) {
    return std::unexpected(topic.error());
  }
  const auto start = parse_start(flags.offset);
  if (!start) {
    return std::unexpected(start.error());
  }
  const auto partition = parse_partition(flags.partition);
  if (!partition) {
    return std::unexpected(partition.error());
  }
  const auto max_bytes = parse_max_bytes(flags.max_bytes);
  if (!max_bytes) {
    return std::unexpected(max_bytes.error());
  }
  flags.options.start = *start;
  flags.options.partition = *partition;
  flags.options.max_bytes = *max_bytes;
  return flags.json ? RecordFormat::json_lines() : RecordFormat::parse(flags.format);
}

void add_options(CLI::App& app, ConsumeFlags& flags) {
  app.add_option("TOPIC", flags.options.topic, "The topic to read")->required();
  app.add_option("--offset", flags.offset,
                 "Where to start in each partition: beginning, end, an offset, or -N for its last N records")
      ->type_name("beginning|end|N|-N")
      ->capture_default_str();
  app.add_option("--partition", flags.partition, "One partition, or all")
      ->type_name("P|all")
      ->capture_default_str();
  app.add_option("--count", flags.options.count, "End after so many records")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, INT64_MAX).description(""));
  auto* exit_at_end = app.add_flag("--exit-at-end", flags.options.exit_at_end,
                                   "End where the log ended when the command started");
  app.add_flag("--follow", flags.follow, "At the end, wait for more records (the default)")
      ->excludes(exit_at_end);
  app.add_option("--position-store", flags.options.position_store,
                 "Keep the position of each partition in this file, and go on there the next time; what was\n"
                 "printed and not stored yet when the command is killed comes again (at least once)")
      ->type_name("FILE");
  app.add_option("--max-bytes", flags.max_bytes,
                 "Fetch at most so much at a time; bounds the size of a record")
      ->type_name("BYTES")
      ->capture_default_str();
  auto* format =
      app.add_option("--format", flags.format,
                     "How to print a record: %t topic, %p partition, %o offset, %s value, %S its length,\n"
                     "%x hex, %b base64, %%; \\n \\t \\r \\0 \\\\ \\xNN")
          ->type_name("TEXT")
          ->capture_default_str();
  app.add_flag("--json", flags.json,
               "Print JSON lines: topic, partition, offset, and value, or value_base64 if it is not UTF-8")
      ->excludes(format);
  add_broker_options(app, flags.options.broker);
  add_reconnect_option(app, flags.options.broker);
}

}  // namespace

void add_consume(Commands& commands) {
  const auto flags = std::make_shared<ConsumeFlags>();
  CLI::App& app = commands.add(
      {.name = "consume", .summary = "Print the records of a topic", .examples = kExamples}, [flags] {
        auto format = read_flags(*flags);
        if (!format) {
          return fail_usage("consume", format.error().message);
        }
        return run_client("consume", flags->options.broker, [&](const ClientContext& context) {
          return Consumption(context, flags->options, std::move(*format)).run();
        });
      });
  add_options(app, *flags);
}

}  // namespace booblik::cli
