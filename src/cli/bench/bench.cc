#include "cli/bench/bench.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/bench/fetch_load.h"
#include "cli/bench/produce_load.h"
#include "client/address.h"
#include "env/posix/environment.h"

namespace booblik::cli {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// Runs `body` in an environment of its own and turns an error into the exit code.
ExitCode in_environment(std::move_only_function<Result<void>(env::Environment&)> body) {
  env::SystemCalls system;
  auto environment = env::PosixEnvironment::create({}, system);
  if (!environment) {
    return fail_command("bench", environment.error().message, ExitCode::connection);
  }
  Result<void> result;
  (*environment)->run([&] {
    env::Environment roles = (*environment)->roles();
    result = body(roles);
  });
  if (result) {
    return ExitCode::ok;
  }
  const bool refused = result.error().code == ErrorCode::invalid || result.error().code == ErrorCode::damaged;
  return fail_command("bench", result.error().message, refused ? ExitCode::refused : ExitCode::connection);
}

struct Shared {
  std::string broker = "127.0.0.1:9092";
  double seconds = 5;
  double warm_up_seconds = 1;
  bool json = false;
};

Duration from_seconds(double seconds) {
  return Duration(static_cast<std::int64_t>(seconds * 1e9));
}

std::int64_t request_bytes(const ProduceLoad& load) {
  constexpr std::int64_t kFixedBytes = 32;
  const auto size_field = static_cast<std::int64_t>(sizeof(std::int32_t));
  return kFixedBytes + static_cast<std::int64_t>(load.topic.size()) +
         load.batch_records * (load.record_bytes + size_field);
}

void print_produce(const ProduceLoad& load, ProduceReport& report, bool json) {
  const double seconds = std::chrono::duration<double>(report.elapsed).count();
  const double requests = static_cast<double>(report.requests) / seconds;
  const double records = requests * static_cast<double>(load.batch_records);
  if (json) {
    const auto micros = [&report](double share) {
      return std::chrono::duration<double, std::micro>(report.latencies.percentile(share)).count();
    };
    nlohmann::json result{{"records_per_second", records}, {"requests_per_second", requests},
                          {"p50_us", micros(0.5)},         {"p99_us", micros(0.99)},
                          {"p999_us", micros(0.999)},      {"max_us", micros(1.0)}};
    fmt::print("{}\n", result.dump());
    return;
  }
  const bool open_loop = load.requests_per_second > 0;
  fmt::print("produce: {} connections, batches of {} x {} B, acks {}, {}\n", load.connections,
             load.batch_records, load.record_bytes,
             load.acks == wire::AckPolicy::forced ? "forced" : "written",
             open_loop ? fmt::format("open loop at {:.0f} requests/s", load.requests_per_second)
                       : fmt::format("{} unanswered requests each", load.depth));
  fmt::print("  {:.0f} records/s, {:.0f} requests/s, {:.1f} MiB/s over {:.1f} s\n", records, requests,
             records * static_cast<double>(load.record_bytes) / kMiB, seconds);
  fmt::print("  latency{}: {}\n", open_loop ? " from the scheduled departure" : "",
             report.latencies.to_string());
}

void print_fetch(const FetchLoad& load, const FetchReport& report, bool json) {
  const double seconds = std::chrono::duration<double>(report.elapsed).count();
  if (json) {
    nlohmann::json result{{"records_per_second", static_cast<double>(report.records) / seconds},
                          {"requests_per_second", static_cast<double>(report.requests) / seconds},
                          {"bytes_per_second", static_cast<double>(report.bytes) / seconds}};
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print("fetch: {} connections, at most {} B an answer, checksums {}\n", load.connections,
             load.max_bytes, load.verify ? "verified" : "not verified");
  fmt::print("  {:.0f} records/s, {:.0f} requests/s, {:.1f} MiB/s over {:.1f} s\n",
             static_cast<double>(report.records) / seconds, static_cast<double>(report.requests) / seconds,
             static_cast<double>(report.bytes) / kMiB / seconds, seconds);
}

// Where the load goes and how long it lasts; an error is about --broker.
template <class Load>
Result<void> set_target(Load& load, const Shared& shared) {
  const auto address = client::parse_address(shared.broker);
  if (!address) {
    return fail("--broker", address.error());
  }
  load.host = address->host;
  load.port = address->port;
  load.duration = from_seconds(shared.seconds);
  return {};
}

template <class Load>
void add_shared(CLI::App& app, Shared& shared, Load& load) {
  app.add_option("--broker", shared.broker, "Broker to load, HOST:PORT")
      ->envname("BOOBLIK_BROKER")
      ->capture_default_str();
  app.add_option("--topic", load.topic, "Topic to load")->capture_default_str();
  app.add_option("--partitions", load.partitions, "Spread the connections over so many partitions")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--connections", load.connections, "Connections")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_flag("--json", shared.json, "Print one JSON object instead of text");
  app.add_option("--seconds", shared.seconds, "How long to measure")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
}

void add_produce_load(Commands& commands) {
  auto shared = std::make_shared<Shared>();
  auto load = std::make_shared<ProduceLoad>();
  load->topic = "default";
  auto acks = std::make_shared<std::string>("written");
  CLI::App& app = commands.add(
      {.name = "bench-produce",
       .summary = "Load a broker with PRODUCE and report throughput and latency",
       .examples = "  booblik bench-produce --connections 8 --batch 10 --record-bytes 128\n"
                   "  booblik bench-produce --rate 10000 --batch 1 --acks forced\n"},
      [shared, load, acks] {
        load->acks = *acks == "forced" ? wire::AckPolicy::forced : wire::AckPolicy::written;
        load->warm_up = from_seconds(shared->warm_up_seconds);
        if (const auto set = set_target(*load, *shared); !set) {
          return fail_usage("bench-produce", set.error().message);
        }
        if (request_bytes(*load) > wire::kMaxFrameBytes) {
          return fail_usage(
              "bench-produce",
              fmt::format("--batch times --record-bytes makes a request of {} bytes; at most {} go into one",
                          request_bytes(*load), wire::kMaxFrameBytes));
        }
        return in_environment([shared, load](env::Environment& environment) -> Result<void> {
          auto report = run_produce_load(environment, *load);
          if (!report) {
            return std::unexpected(report.error());
          }
          print_produce(*load, *report, shared->json);
          return {};
        });
      });
  add_shared(app, *shared, *load);
  app.add_option("--warm-up", shared->warm_up_seconds, "Seconds before measuring")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  app.add_option("--batch", load->batch_records, "Records in a request")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--record-bytes", load->record_bytes, "Bytes in a record")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--acks", *acks, "written or forced")
      ->check(CLI::IsMember({"written", "forced"}))
      ->capture_default_str();
  app.add_option("--depth", load->depth, "Unanswered requests of a connection (without --rate)")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--rate", load->requests_per_second,
                 "Requests a second over all connections, on a schedule that does not wait for answers (0: "
                 "as many as go through)")
      ->check(CLI::Range(0.0, 1e7))
      ->capture_default_str();
}

void add_fetch_load(Commands& commands) {
  auto shared = std::make_shared<Shared>();
  auto load = std::make_shared<FetchLoad>();
  load->topic = "default";
  CLI::App& app =
      commands.add({.name = "bench-fetch",
                    .summary = "Load a broker with FETCH from the start of its logs and report throughput",
                    .examples = "  booblik bench-fetch --connections 4 --verify\n"},
                   [shared, load] {
                     if (const auto set = set_target(*load, *shared); !set) {
                       return fail_usage("bench-fetch", set.error().message);
                     }
                     return in_environment([shared, load](env::Environment& environment) -> Result<void> {
                       const auto report = run_fetch_load(environment, *load);
                       if (!report) {
                         return std::unexpected(report.error());
                       }
                       print_fetch(*load, *report, shared->json);
                       return {};
                     });
                   });
  add_shared(app, *shared, *load);
  app.add_option("--max-bytes", load->max_bytes, "Bytes in an answer at the most")
      ->check(CLI::Range(1, 8'388'590))
      ->capture_default_str();
  app.add_flag("--verify", load->verify, "Check the checksum of each record");
}

}  // namespace

void add_bench(Commands& commands) {
  add_produce_load(commands);
  add_fetch_load(commands);
}

}  // namespace booblik::cli
