#include "cli/consume_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/metadata.h"

namespace booblik::cli {

Consumption::Consumption(const ClientContext& context, const ConsumeOptions& options, RecordFormat format)
    : context_(context), options_(options), format_(std::move(format)), left_(options.count) {}

ExitCode Consumption::run() {
  const Interrupts interrupts(context_, [this] { stop(); });
  const auto wanted = partitions();
  if (!wanted) {
    return fail_client("consume", wanted.error());
  }
  if (options_.exit_at_end || wanted->size() == 1) {
    for (const PartitionId partition : *wanted) {
      if (auto read = run_one(partition); !read) {
        return finish(read);
      }
    }
    return finish({});
  }
  run_side_by_side(*wanted);
  return finish(first_failure_);
}

client::Outcome<std::vector<PartitionId>> Consumption::partitions() {
  if (options_.partition) {
    return std::vector{PartitionId(*options_.partition)};
  }
  const auto deadline = [this] { return Deadline(context_.roles.clock.now() + context_.timeout); };
  const auto connection = client::Connection::open(context_.roles.network, context_.broker, deadline());
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const auto topic = client::ask_topic(**connection, options_.topic, deadline());
  if (!topic) {
    return std::unexpected(topic.error());
  }
  std::vector<PartitionId> all;
  for (const wire::PartitionMetadata& partition : topic->partitions) {
    all.push_back(partition.partition);
  }
  return all;
}

// Each partition has a connection of its own: a held FETCH delays all answers behind it.
void Consumption::run_side_by_side(const std::vector<PartitionId>& partitions) {
  env::WaitGroup readers(context_.roles.scheduler);
  for (const PartitionId partition : partitions) {
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
  client::ConsumerOptions options;
  options.broker = context_.broker;
  options.topic = options_.topic;
  options.partition = partition;
  options.start = options_.start;
  options.max_bytes = options_.max_bytes;
  options.connect_timeout = context_.timeout;
  options.request_timeout = context_.timeout;
  const auto consumer = client::Consumer::open(context_.roles, std::move(options));
  if (!consumer) {
    return std::unexpected(consumer.error());
  }
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
  for (const client::Record& record : batch.records) {
    if (left_ && *left_ == 0) {
      break;
    }
    format_.append(output_.text(), options_.topic, partition, record.offset, record.value);
    if (left_) {
      --*left_;
    }
    if (auto flushed = flush(false); !flushed || stopped_) {
      return flushed;
    }
  }
  if (left_ && *left_ == 0) {
    stop();
  }
  // Somebody may be watching: what there is now is shown before more is waited for.
  return flush(!options_.exit_at_end);
}

client::Outcome<void> Consumption::flush(bool everything) {
  const auto open = everything ? output_.flush() : output_.flush_if_full();
  if (!open) {
    return client::failed(client::FailureKind::invalid, open.error().message);
  }
  if (!*open) {
    output_.text().clear();
    stop();  // the reader has had enough: `booblik consume t | head`
  }
  return {};
}

void Consumption::stop() {
  stopped_ = true;
  for (client::Consumer* consumer : reading_) {
    consumer->interrupt();
  }
}

ExitCode Consumption::finish(const client::Outcome<void>& outcome) {
  const auto flushed = flush(true);
  if (!outcome) {
    if (outcome.error().kind == client::FailureKind::record_exceeds_max_bytes) {
      const std::int64_t needed = outcome.error().record_bytes + wire::kRecordHeaderBytes;
      return fail_command("consume",
                          fmt::format("{}; --max-bytes {} brings it", outcome.error().message, needed),
                          exit_code_of(outcome.error()));
    }
    return fail_client("consume", outcome.error());
  }
  return flushed ? ExitCode::ok : fail_client("consume", flushed.error());
}

}  // namespace booblik::cli
