#include "cli/produce_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/text.h"

namespace booblik::cli {
namespace {

using client::Delivery;
using client::Failure;

// What became of the records, for the summary.
struct Tally {
  std::int64_t taken = 0;  // handed to the producer
  std::int64_t taken_bytes = 0;
  std::int64_t skipped = 0;
  std::int64_t done = 0;  // acknowledged, or handed over with ackPolicy NONE
  std::int64_t refused = 0;
  std::int64_t unknown = 0;
  std::int64_t not_sent = 0;
  std::optional<Failure> failure;  // the first that is the end of it

  void add(const Delivery& delivery);
  [[nodiscard]] std::string summary(const ProduceOptions& options, Duration elapsed, bool interrupted) const;
};

void Tally::add(const Delivery& delivery) {
  switch (delivery.state) {
    case Delivery::State::acknowledged:
    case Delivery::State::handed_over:
      done += delivery.records;
      break;
    case Delivery::State::refused:
      refused += delivery.records;
      break;
    case Delivery::State::unknown:
      unknown += delivery.records;
      break;
    case Delivery::State::not_sent:
      not_sent += delivery.records;
      break;
  }
  // What is unknown after a loss is counted and the next records go on; a refusal would meet them too.
  if (delivery.failure != nullptr && delivery.state != Delivery::State::unknown && !failure) {
    failure = *delivery.failure;
  }
}

std::string_view done_word(wire::AckPolicy acks) {
  switch (acks) {
    case wire::AckPolicy::none:
      return "handed over without an acknowledgement";
    case wire::AckPolicy::written:
      return "written";
    case wire::AckPolicy::forced:
      break;
  }
  return "forced to disk";
}

// "1000000 records (128000000 bytes) to orders in 0.412 s, 2427184 records/s: all written"
std::string Tally::summary(const ProduceOptions& options, Duration elapsed, bool interrupted) const {
  const double seconds = std::max(std::chrono::duration<double>(elapsed).count(), 1e-9);
  std::string text = fmt::format("{} record{} ({} bytes) to {} in {:.3f} s, {:.0f} records/s: ", taken,
                                 taken == 1 ? "" : "s", taken_bytes, options.topic, seconds,
                                 static_cast<double>(taken) / seconds);
  text += taken == 0      ? "nothing to write"
          : done == taken ? fmt::format("all {}", done_word(options.acks))
                          : fmt::format("{} {}", done, done_word(options.acks));
  const auto append = [&text](std::int64_t count, std::string_view what) {
    if (count > 0) {
      text += fmt::format(", {} {}", count, what);
    }
  };
  append(refused, "refused");
  append(unknown, "of unknown outcome (the connection broke before the answer)");
  append(not_sent, "not sent");
  append(skipped, "empty skipped");
  return text + (interrupted ? "; interrupted" : "");
}

// Feeds inputs to the producer.
class Feeder {
 public:
  Feeder(const ProduceOptions& options, client::Producer& producer, Tally& tally)
      : options_(options), producer_(producer), tally_(tally) {}

  // Until the end of the input or the first failure. Parks.
  client::Outcome<void> feed(RecordReader& reader);

 private:
  client::Outcome<void> take(Bytes record);
  client::Outcome<void> send(std::optional<Bytes> key, Bytes value);

  const ProduceOptions& options_;
  client::Producer& producer_;
  Tally& tally_;
};

client::Outcome<void> Feeder::feed(RecordReader& reader) {
  while (!tally_.failure) {
    const auto record = reader.next();
    if (!record) {
      return client::failed(client::FailureKind::invalid, record.error().message);
    }
    if (!*record) {
      return {};
    }
    auto taken = take(**record);
    if (!taken) {
      if (taken.error().kind == client::FailureKind::invalid) {
        taken.error().message = fmt::format("{}: {}", reader.where(), taken.error().message);
      }
      return taken;
    }
  }
  return std::unexpected(*tally_.failure);
}

client::Outcome<void> Feeder::take(Bytes record) {
  if (!options_.key_delimiter || record.empty()) {
    return send(options_.key ? std::optional(as_bytes(*options_.key)) : std::nullopt, record);
  }
  const std::size_t at = as_text(record).find(*options_.key_delimiter);
  if (at == std::string_view::npos) {
    return client::failed(
        client::FailureKind::invalid,
        fmt::format("there is no key: the delimiter {} is missing", cli::in_quotes(*options_.key_delimiter)));
  }
  const Bytes value = record.subspan(at + options_.key_delimiter->size());
  return send(record.first(at), options_.keep_key ? record : value);
}

client::Outcome<void> Feeder::send(std::optional<Bytes> key, Bytes value) {
  if (value.empty()) {
    if (!options_.skip_empty) {
      return client::failed(
          client::FailureKind::invalid,
          "the record is empty, which the protocol does not have; --skip-empty leaves such out");
    }
    ++tally_.skipped;
    return {};
  }
  const auto ticket = key                  ? producer_.send_keyed(*key, value)
                      : options_.partition ? producer_.send_to(PartitionId(*options_.partition), value)
                                           : producer_.send(value);
  if (!ticket) {
    return std::unexpected(ticket.error());
  }
  ++tally_.taken;
  tally_.taken_bytes += static_cast<std::int64_t>(value.size());
  return {};
}

client::ProducerOptions producer_options(const ClientContext& context, const ProduceOptions& options,
                                         Tally& tally) {
  client::ProducerOptions result;
  result.broker = context.broker;
  result.topic = options.topic;
  result.acks = options.acks;
  result.batch_bytes = static_cast<std::size_t>(options.batch_bytes);
  result.batch_records = options.batch_records;
  result.linger = std::chrono::milliseconds(options.linger_ms);
  result.in_flight_max = static_cast<std::size_t>(options.in_flight);
  result.connect_timeout = context.timeout;
  result.request_timeout = context.timeout;
  result.reconnect = context.reconnect;
  result.on_connection = connection_notes("produce", options.topic);
  result.on_delivery = [&tally](const Delivery& delivery) { tally.add(delivery); };
  return result;
}

// All that there is to read, if it is known.
std::int64_t total_bytes(const std::vector<std::unique_ptr<InputFile>>& inputs) {
  std::int64_t total = 0;
  for (const auto& input : inputs) {
    const auto size = input->size();
    if (!size) {
      return 0;
    }
    total += *size;
  }
  return total;
}

// What the broker said weighs more than what stopped the input.
ExitCode exit_code(const client::Outcome<void>& closed, const client::Outcome<void>& fed,
                   const Tally& tally) {
  if (!closed && tally.unknown > 0) {
    return fail_command(
        "produce",
        fmt::format("{} record(s) may be written or not: {}", tally.unknown, closed.error().message),
        exit_code_of(closed.error()));
  }
  if (!closed) {
    return fail_client("produce", closed.error());
  }
  return fed ? ExitCode::ok : fail_client("produce", fed.error());
}

Result<std::vector<std::unique_ptr<InputFile>>> open_inputs(const ClientContext& context,
                                                            const ProduceOptions& options) {
  std::vector<std::unique_ptr<InputFile>> inputs;
  env::Reactor& reactor = context.environment.reactor();
  for (const std::string& path : options.files) {
    auto file = InputFile::open(reactor, context.environment.system(), path);
    if (!file) {
      return std::unexpected(file.error());
    }
    inputs.push_back(std::move(*file));
  }
  if (inputs.empty()) {
    inputs.push_back(InputFile::standard_input(reactor));
  }
  return inputs;
}

}  // namespace

ExitCode run_produce(const ClientContext& context, const ProduceOptions& options) {
  auto inputs = open_inputs(context, options);
  if (!inputs) {
    return fail_command("produce", inputs.error().message, ExitCode::usage);
  }
  Tally tally;
  const auto producer = client::Producer::open(context.roles, producer_options(context, options, tally));
  if (!producer) {
    return fail_client("produce", producer.error());
  }
  Interrupts interrupts(context, [&inputs, &producer] {
    for (const auto& input : *inputs) {
      input->stop();
    }
    if (!(*producer)->connected()) {
      (*producer)->give_up();
    }
  });
  auto progress =
      std::make_unique<Progress>(context.roles.clock, options.quiet ? Terminal{} : error_terminal(),
                                 ProgressUnit::bytes, total_bytes(*inputs));
  const Instant started = context.roles.clock.now();
  Feeder feeder(options, **producer, tally);
  client::Outcome<void> fed;
  for (std::size_t i = 0; i < inputs->size() && fed; ++i) {
    InputFile& input = *(*inputs)[i];
    RecordReader reader(
        [&input, &progress](MutableBytes buffer) {
          auto count = input.read(buffer);
          progress->add(count ? static_cast<std::int64_t>(*count) : 0);
          return count;
        },
        options.input, wire::kMaxRecordPayloadBytes);
    fed = feeder.feed(reader);
    if (!fed && !options.files.empty() && fed.error().kind == client::FailureKind::invalid) {
      fed.error().message = fmt::format("{}: {}", options.files[i], fed.error().message);
    }
  }
  const auto closed = (*producer)->close();
  progress.reset();
  if (!options.quiet) {
    const Duration elapsed = context.roles.clock.now() - started;
    fmt::print(stderr, "{}\n", tally.summary(options, elapsed, interrupts.arrived()));
  }
  return exit_code(closed, fed, tally);
}

}  // namespace booblik::cli
