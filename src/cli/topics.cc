#include "cli/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "cli/client_command.h"
#include "cli/text.h"
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

// What there is, and with a second look how fast it grows.
struct Look {
  Topics topics;
  std::optional<Topics> before;
  Duration between{0};
};

// Records per second; nothing when there was no earlier look, or the partition is not what it was then.
std::optional<double> rate_of(const Look& look, const std::string& topic,
                              const wire::PartitionMetadata& partition) {
  if (!look.before) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(*look.before, topic, &wire::TopicMetadata::name);
  const auto index = static_cast<std::size_t>(partition.partition.value());
  if (found == look.before->end() || index >= found->partitions.size()) {
    return std::nullopt;
  }
  const std::int64_t grown = partition.high_watermark - found->partitions[index].high_watermark;
  if (grown < 0) {
    return std::nullopt;
  }
  return static_cast<double>(grown) / std::chrono::duration<double>(look.between).count();
}

std::string as_table(const Look& look) {
  std::size_t width = 5;
  for (const wire::TopicMetadata& topic : look.topics) {
    width = std::max(width, topic.name.size());
  }
  std::string table = fmt::format("{:<{}}  PARTITION         START           END       RECORDS{}\n", "TOPIC",
                                  width, look.before ? "     RECORDS/S" : "");
  for (const wire::TopicMetadata& topic : look.topics) {
    for (const wire::PartitionMetadata& partition : topic.partitions) {
      // Padded by hand: the library pads by its own idea of how wide a character is.
      table += topic.name + std::string(width - topic.name.size(), ' ');
      table += fmt::format("  {:>9}  {:>12}  {:>12}  {:>12}", partition.partition.value(),
                           partition.log_start.value(), partition.high_watermark.value(),
                           partition.high_watermark - partition.log_start);
      if (look.before) {
        const auto rate = rate_of(look, topic.name, partition);
        table += fmt::format("  {:>12}", rate ? fmt::format("{:.1f}", *rate) : "-");
      }
      table += "\n";
    }
  }
  return table;
}

std::string as_json(const Look& look) {
  auto list = nlohmann::ordered_json::array();
  for (const wire::TopicMetadata& topic : look.topics) {
    auto partitions = nlohmann::ordered_json::array();
    for (const wire::PartitionMetadata& partition : topic.partitions) {
      nlohmann::ordered_json each{{"partition", partition.partition.value()},
                                  {"logStartOffset", partition.log_start.value()},
                                  {"highWatermark", partition.high_watermark.value()},
                                  {"records", partition.high_watermark - partition.log_start}};
      if (look.before) {
        const auto rate = rate_of(look, topic.name, partition);
        each["recordsPerSecond"] = rate ? nlohmann::ordered_json(*rate) : nlohmann::ordered_json();
      }
      partitions.push_back(std::move(each));
    }
    list.push_back({{"name", topic.name}, {"partitions", std::move(partitions)}});
  }
  return list.dump(2) + "\n";
}

// With `between`, looks twice, so far apart.
client::Outcome<Look> look(const ClientContext& context, std::optional<Duration> between) {
  auto topics = ask(context);
  if (!topics) {
    return std::unexpected(std::move(topics.error()));
  }
  if (!between) {
    return Look{.topics = std::move(*topics), .before = {}};
  }
  const Instant first = context.roles.clock.now();
  const Deadline second(first + *between);
  while (!second.passed(context.roles.clock.now())) {
    context.roles.scheduler.park(second);
  }
  auto again = ask(context);
  if (!again) {
    return std::unexpected(std::move(again.error()));
  }
  return Look{.topics = std::move(*again),
              .before = std::move(*topics),
              .between = context.roles.clock.now() - first};
}

// "--rates" alone, or with its seconds.
Result<std::optional<Duration>> parse_rates(const std::optional<std::string>& text) {
  if (!text) {
    return std::optional<Duration>();
  }
  if (text->empty() || *text == "true") {
    return std::optional<Duration>(std::chrono::seconds(1));
  }
  const auto seconds = parse_number<double>(*text);
  if (!seconds || !(*seconds >= 0.01) || *seconds > 3600) {
    return fail(ErrorCode::invalid,
                fmt::format("--rates {}: write seconds from 0.01 to 3600", in_quotes(*text)));
  }
  return std::optional<Duration>(
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds)));
}

ExitCode print_topics(const ClientContext& context, std::optional<Duration> between, bool json) {
  const auto seen = look(context, between);
  if (!seen) {
    return fail_client("topics", seen.error());
  }
  fmt::print("{}", json ? as_json(*seen) : as_table(*seen));
  return ExitCode::ok;
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
    std::optional<std::string> rates;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& app = commands.add(
      {.name = "topics",
       .summary = "List the broker's topics, where their logs start and end, and how fast they grow",
       .examples = "  booblik topics\n"
                   "  booblik topics --rates 5\n"
                   "  booblik topics --json --broker 127.0.0.1:9092\n"},
      [options] {
        const auto between = parse_rates(options->rates);
        if (!between) {
          return fail_usage("topics", between.error().message);
        }
        return run_client("topics", options->broker, [&](const ClientContext& context) {
          return print_topics(context, *between, options->json);
        });
      });
  app.add_flag("--json", options->json, "Print a JSON array");
  app.add_option("--rates", options->rates, "Look twice, 1 s or SECONDS apart, and show records per second")
      ->type_name("SECONDS")
      ->expected(0, 1);
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
