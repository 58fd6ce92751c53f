#include "cli/consume_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/terminal.h"
#include "client/topic_connection.h"

namespace booblik::cli {

Consumption::Consumption(const ClientContext& context, const ConsumeOptions& options, RecordFormat format)
    : context_(context),
      options_(options),
      format_(std::move(format)),
      output_(context.environment.reactor(), context.environment.system(), context.roles.clock),
      last_save_(context.roles.clock.now()),
      left_(options.count) {}

ExitCode Consumption::run() {
  const Interrupts interrupts(context_, [this] {
    stop();
    output_.hurry();
  });
  if (auto opened = open_store(); !opened) {
    return fail_client("consume", opened.error());
  }
  const auto wanted = partitions();
  if (!wanted) {
    return fail_client("consume", wanted.error());
  }
  if (options_.exit_at_end) {
    const auto planned = planned_records(*wanted);
    if (!planned) {
      return fail_client("consume", planned.error());
    }
    Terminal terminal = error_terminal();
    terminal.interactive = terminal.interactive && !output_is_terminal();
    progress_ = std::make_unique<Progress>(context_.roles.clock, terminal, ProgressUnit::records, *planned);
  }
  return run(*wanted);
}

ExitCode Consumption::run(const Partitions& wanted) {
  if (options_.exit_at_end || wanted.size() == 1) {
    for (const wire::PartitionMetadata& partition : wanted) {
      if (auto read = run_one(partition.partition); !read) {
        return finish(read);
      }
    }
    return finish({});
  }
  run_side_by_side(wanted);
  return finish(first_failure_);
}

client::Outcome<void> Consumption::open_store() {
  if (!options_.position_store) {
    return {};
  }
  const env::Environment environment = context_.environment.roles();
  auto store =
      client::FilePositionStore::open(environment.scheduler, environment.disk, *options_.position_store);
  if (!store) {
    return client::failed(client::FailureKind::refused, "--position-store " + store.error().message);
  }
  store_ = std::move(*store);
  return {};
}

client::Outcome<client::Start> Consumption::start_of(PartitionId partition) {
  if (store_ == nullptr) {
    return options_.start;
  }
  const auto stored = store_->load(options_.topic, partition);
  if (!stored) {
    return client::failed(client::FailureKind::refused, stored.error().message);
  }
  return *stored ? client::Start{client::Start::At::offset, (*stored)->value()} : options_.start;
}

client::Outcome<std::int64_t> Consumption::planned_records(const Partitions& wanted) {
  std::int64_t planned = 0;
  for (const wire::PartitionMetadata& partition : wanted) {
    const auto start = start_of(partition.partition);
    if (!start) {
      return std::unexpected(start.error());
    }
    const Offset first = client::first_position(*start, partition);
    const std::int64_t more = std::max<std::int64_t>(partition.high_watermark - first, 0);
    planned += std::min(more, INT64_MAX - planned);  // whatever a broker says its offsets are
  }
  return std::min(planned, options_.count.value_or(INT64_MAX));
}

client::Outcome<Consumption::Partitions> Consumption::partitions() {
  auto topic = client::connect_to_topic(context_.roles, context_.broker, options_.topic, context_.timeout,
                                        context_.timeout);
  if (!topic) {
    return std::unexpected(std::move(topic.error()));
  }
  Partitions& all = topic->topic.partitions;
  if (!options_.partition) {
    return std::move(all);
  }
  const auto index = static_cast<std::size_t>(*options_.partition);
  if (index >= all.size()) {
    return client::no_such_partition(options_.topic, all.size(), PartitionId(*options_.partition));
  }
  return Partitions{all[index]};
}

// Each partition has a connection of its own: a held FETCH delays all answers behind it.
void Consumption::run_side_by_side(const Partitions& partitions) {
  env::WaitGroup readers(context_.roles.scheduler);
  for (const wire::PartitionMetadata& each : partitions) {
    const PartitionId partition = each.partition;
    readers.add();
    context_.roles.scheduler.spawn(fmt::format("partition {}", partition.value()),
                                   [this, &readers, partition] {
                                     if (auto read = run_one(partition); !read && first_failure_) {
                                       first_failure_ = read;
                                       stop();
                                     }
                                     readers.done();
                                   });
  }
  (void)readers.wait(Deadline::never());
}

client::Outcome<void> Consumption::run_one(PartitionId partition) {
  if (stopped_) {
    return {};
  }
  const auto start = start_of(partition);
  if (!start) {
    return std::unexpected(start.error());
  }
  client::ConsumerOptions options;
  options.broker = context_.broker;
  options.topic = options_.topic;
  options.partition = partition;
  options.start = *start;
  options.max_bytes = options_.max_bytes;
  options.connect_timeout = context_.timeout;
  options.request_timeout = context_.timeout;
  options.reconnect = context_.reconnect;
  options.on_connection =
      connection_notes("consume", fmt::format("{}-{}", options_.topic, partition.value()));
  const auto consumer = client::Consumer::open(context_.roles, std::move(options));
  if (!consumer) {
    return std::unexpected(consumer.error());
  }
  taken_[partition] = (*consumer)->position();
  reading_.push_back(consumer->get());
  auto outcome = read_all(**consumer, partition);
  std::erase(reading_, consumer->get());
  return outcome;
}

client::Outcome<void> Consumption::read_all(client::Consumer& consumer, PartitionId partition) {
  while (!stopped_) {
    const auto batch = options_.exit_at_end ? consumer.replay() : consumer.follow(Deadline::never());
    if (stopped_) {
      return {};
    }
    if (!batch) {
      return std::unexpected(batch.error());
    }
    if (batch->records.empty()) {
      return {};
    }
    if (auto printed = print(*batch, partition); !printed) {
      return printed;
    }
  }
  return {};
}

client::Outcome<void> Consumption::print(const client::ConsumedBatch& batch, PartitionId partition) {
  Offset& taken = taken_.at(partition);
  for (const client::Record& record : batch.records) {
    if (left_ && *left_ == 0) {
      break;
    }
    format_.append(output_.text(), options_.topic, partition, record.offset, record.value);
    taken = record.offset + 1;
    if (left_) {
      --*left_;
    }
    if (output_.is_full()) {
      if (auto flushed = flush(); !flushed || stopped_) {
        return flushed;
      }
    }
  }
  if (left_ && *left_ == 0) {
    stop();
  }
  if (progress_ != nullptr) {
    progress_->add(static_cast<std::int64_t>(batch.records.size()));
  }
  // Somebody may be watching: what there is now is shown before more is waited for.
  return options_.exit_at_end ? client::Outcome<void>() : flush();
}

client::Outcome<void> Consumption::flush() {
  const auto taken = taken_;  // others go on while this one waits for the reader
  const auto open = output_.flush();
  if (!open) {
    return client::failed(client::FailureKind::invalid, open.error().message);
  }
  if (!*open) {
    stop();  // the reader has had enough: `booblik consume t | head`
    return {};
  }
  for (const auto& [partition, next] : taken) {
    Offset& written = written_[partition];
    written = std::max(written, next);
  }
  return save_is_due() ? save_positions() : client::Outcome<void>();
}

bool Consumption::save_is_due() const {
  return context_.roles.clock.now() - last_save_ >= std::chrono::seconds(1);
}

client::Outcome<void> Consumption::save_positions() {
  if (store_ == nullptr || saved_ == written_) {
    return {};
  }
  last_save_ = context_.roles.clock.now();
  const auto saving = written_;
  std::vector<client::StoredPosition> positions;
  for (const auto& [partition, next] : saving) {
    positions.push_back({options_.topic, partition, next});
  }
  if (const auto saved = store_->save(positions); !saved) {
    return client::failed(client::FailureKind::refused,
                          "the position is not stored: " + saved.error().message);
  }
  saved_ = saving;
  return {};
}

void Consumption::stop() {
  stopped_ = true;
  for (client::Consumer* consumer : reading_) {
    consumer->interrupt();
  }
}

ExitCode Consumption::finish(const client::Outcome<void>& outcome) {
  auto flushed = flush();
  if (flushed) {
    flushed = save_positions();
  }
  progress_.reset();
  if (outcome) {
    return flushed ? ExitCode::ok : fail_client("consume", flushed.error());
  }
  const client::Failure& failure = outcome.error();
  std::string advice;
  if (failure.kind == client::FailureKind::record_exceeds_max_bytes) {
    advice = fmt::format("; --max-bytes {} brings it", failure.record_bytes + wire::kRecordHeaderBytes);
  } else if (store_ != nullptr && (failure.kind == client::FailureKind::log_reset ||
                                   failure.kind == client::FailureKind::offset_out_of_range)) {
    advice = fmt::format("; the position is from {}, remove that to begin at --offset", store_->path());
  }
  return fail_command("consume", failure.message + advice, exit_code_of(failure));
}

}  // namespace booblik::cli
