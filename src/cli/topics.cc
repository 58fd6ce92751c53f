#include "cli/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/client_command.h"
#include "client/metadata.h"

namespace booblik::cli {
namespace {

using Topics = std::vector<wire::TopicMetadata>;

client::Outcome<Topics> ask(const ClientContext& context) {
  const Deadline deadline(context.roles.clock.now() + context.timeout);
  const auto connection = client::Connection::open(context.roles.network, context.broker, deadline);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  return client::ask_metadata(**connection, {}, deadline);
}

std::string as_table(const Topics& topics) {
  std::size_t width = 5;
  for (const wire::TopicMetadata& topic : topics) {
    width = std::max(width, topic.name.size());
  }
  std::string table =
      fmt::format("{:<{}}  PARTITION         START           END       RECORDS\n", "TOPIC", width);
  for (const wire::TopicMetadata& topic : topics) {
    for (const wire::PartitionMetadata& partition : topic.partitions) {
      // Padded by hand: the library pads by its own idea of how wide a character is.
      table += topic.name + std::string(width - topic.name.size(), ' ');
      table += fmt::format("  {:>9}  {:>12}  {:>12}  {:>12}\n", partition.partition.value(),
                           partition.log_start.value(), partition.high_watermark.value(),
                           partition.high_watermark - partition.log_start);
    }
  }
  return table;
}

std::string as_json(const Topics& topics) {
  auto list = nlohmann::ordered_json::array();
  for (const wire::TopicMetadata& topic : topics) {
    auto partitions = nlohmann::ordered_json::array();
    for (const wire::PartitionMetadata& partition : topic.partitions) {
      partitions.push_back({{"partition", partition.partition.value()},
                            {"logStartOffset", partition.log_start.value()},
                            {"highWatermark", partition.high_watermark.value()},
                            {"records", partition.high_watermark - partition.log_start}});
    }
    list.push_back({{"name", topic.name}, {"partitions", std::move(partitions)}});
  }
  return list.dump(2) + "\n";
}

ExitCode print_health(const ClientContext& context) {
  const Instant asked = context.roles.clock.now();
  const auto topics = ask(context);
  if (!topics) {
    return fail_client("health", topics.error());
  }
  const Duration elapsed = context.roles.clock.now() - asked;
  std::size_t partitions = 0;
  for (const wire::TopicMetadata& topic : *topics) {
    partitions += topic.partitions.size();
  }
  fmt::print("ok: {} answered in {:.1f} ms, {} topic(s), {} partition(s)\n", context.broker.to_string(),
             std::chrono::duration<double, std::milli>(elapsed).count(), topics->size(), partitions);
  return ExitCode::ok;
}

}  // namespace

void add_topics(Commands& commands) {
  struct Options {
    BrokerOptions broker;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& app =
      commands.add({.name = "topics",
                    .summary = "List the broker's topics and where their logs start and end",
                    .examples = "  booblik topics\n"
                                "  booblik topics --json --broker 127.0.0.1:9092\n"},
                   [options] {
                     return run_client("topics", options->broker, [&](const ClientContext& context) {
                       const auto topics = ask(context);
                       if (!topics) {
                         return fail_client("topics", topics.error());
                       }
                       fmt::print("{}", options->json ? as_json(*topics) : as_table(*topics));
                       return ExitCode::ok;
                     });
                   });
  app.add_flag("--json", options->json, "Print a JSON array");
  add_broker_options(app, options->broker);
}

void add_health(Commands& commands) {
  const auto options = std::make_shared<BrokerOptions>();
  options->timeout_ms = 2000;
  CLI::App& app =
      commands.add({.name = "health",
                    .summary = "Exit 0 if the broker answers in time, 3 if it does not",
                    .examples = "  booblik health\n"
                                "  booblik health --timeout-ms 500 || systemctl restart booblik\n"},
                   [options] { return run_client("health", *options, print_health); });
  add_broker_options(app, *options);
}

}  // namespace booblik::cli
