#include "sim/library_producer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "client/partitioner.h"

namespace booblik::sim {
namespace {

using client::Delivery;

constexpr std::int64_t kRetryMillis = 200;

}  // namespace

LibraryProducer::LibraryProducer(Workload& workload, std::uint64_t number)
    : LibraryClient(workload, number) {}

void LibraryProducer::run() {
  const auto partitions = static_cast<std::size_t>(workload_.plan.partitions);
  while (!workload_.ended()) {
    topic_ = static_cast<std::size_t>(random_.below(static_cast<std::uint64_t>(workload_.plan.topics)));
    ended_ = false;
    untold_.assign(partitions, {});
    last_batch_.assign(partitions, std::nullopt);
    next_base_.assign(partitions, 0);
    base_epoch_.assign(partitions, 0);
    begin_flush_span();
    auto producer = client::Producer::open(roles_, draw_options());
    if (producer) {
      use(**producer);
      end(std::move(*producer));
    }
    pause(kRetryMillis);
  }
}

client::ProducerOptions LibraryProducer::draw_options() {
  acks_ = workload_.acks(random_.below(3));
  client::ProducerOptions options;
  options.broker = broker();
  options.topic = workload_.topic_of(topic_ * static_cast<std::size_t>(workload_.plan.partitions));
  options.acks = acks_;
  options.batch_bytes = static_cast<std::size_t>(between(random_, 1, 4'096));
  options.batch_records = static_cast<std::int32_t>(between(random_, 1, workload_.plan.batch_max));
  options.linger = std::chrono::milliseconds(random_.one_in(2) ? 0 : between(random_, 0, 300));
  options.in_flight_max = static_cast<std::size_t>(between(random_, 1, workload_.plan.depth_max));
  options.buffered_bytes_max = static_cast<std::size_t>(between(random_, 1, 16'384));
  options.request_timeout = patience();
  options.reconnect = draw_reconnect();
  options.on_connection = watch_connection();
  options.on_delivery = [this](const Delivery& delivery) { take(delivery); };
  return options;
}

void LibraryProducer::use(client::Producer& producer) {
  if (producer.partition_count() != workload_.plan.partitions) {
    return violate(fmt::format("{} partitions", producer.partition_count()));
  }
  while (!workload_.ended() && !random_.one_in(30)) {
    const std::int64_t burst = between(random_, 1, 4 * workload_.plan.batch_max);
    for (std::int64_t index = 0; index < burst; ++index) {
      send_one(producer);
    }
    if (random_.one_in(4)) {
      flush(producer);
    }
    if (ended_) {
      return;
    }
    pause(workload_.plan.think_millis);
  }
}

void LibraryProducer::send_one(client::Producer& producer) {
  const std::uint64_t key = random_.next();
  const bool keyed = random_.one_in(2);
  const Bytes key_bytes = std::as_bytes(std::span(&key, 1));
  const PartitionId partition =
      keyed ? client::partition_for_key(key_bytes, producer.partition_count())
            : PartitionId(static_cast<std::int32_t>(between(random_, 0, workload_.plan.partitions - 1)));
  const auto index = static_cast<std::size_t>(partition.value());
  const std::int64_t size =
      between(random_, workload_.plan.payload_bytes_min(), workload_.plan.payload_bytes_max());
  const AttemptNumber attempt = workload_.model.send_later(in_model(index), size);
  std::vector<std::byte> payload(static_cast<std::size_t>(size));
  Model::fill_payload(attempt, payload);
  untold_[index].push_back(attempt);
  const auto ticket = keyed ? producer.send_keyed(key_bytes, payload) : producer.send_to(partition, payload);
  if (!ticket) {
    if (untold_[index].empty() || untold_[index].back() != attempt) {
      return violate("a record that was not taken was reported");
    }
    ended_ = true;
    untold_[index].pop_back();
    workload_.model.refuse(attempt, 1);
  }
}

// A new span between two flushes begins.
void LibraryProducer::begin_flush_span() {
  not_as_asked_ = 0;
  handed_over_.assign(untold_.size(), 0);
  ends_.clear();
  for (std::size_t index = 0; index < untold_.size(); ++index) {
    ends_.push_back(workload_.model.known_end(in_model(index)));
  }
  ends_epoch_ = workload_.model.epoch();
}

void LibraryProducer::flush(client::Producer& producer) {
  const bool ended = !producer.flush();
  workload_.model.count(ended ? "library flush failed" : "library flush");
  if (std::ranges::any_of(untold_, [](const auto& records) { return !records.empty(); })) {
    violate("a flush returned before every outcome was told");
  }
  if (!ended && not_as_asked_ > 0) {
    violate(fmt::format("a flush succeeded, but {} batch(es) were not written as asked", not_as_asked_));
  }
  if (!ended && is_current() && ends_epoch_ == workload_.model.epoch()) {
    check_fence();
  }
  begin_flush_span();
}

// What has no answer is in the log when a flush has succeeded: everyone who asks from now on has to see it.
void LibraryProducer::check_fence() {
  for (std::size_t index = 0; index < handed_over_.size(); ++index) {
    if (handed_over_[index] > 0) {
      workload_.model.count("library fence");
      workload_.model.must_reach(in_model(index), ends_[index] + handed_over_[index]);
    }
  }
}

void LibraryProducer::end(std::unique_ptr<client::Producer> producer) {
  switch (random_.below(4)) {
    case 0:
      producer->give_up();
      break;
    case 1:
      producer->interrupt();
      break;
    case 2:
      break;  // dropped as it is
    default:
      static_cast<void>(producer->close());
      break;
  }
  producer.reset();
  if (std::ranges::any_of(untold_, [](const auto& records) { return !records.empty(); })) {
    violate("a producer ended without telling every outcome");
  }
}

void LibraryProducer::take(const Delivery& delivery) {
  workload_.watch_cache();
  workload_.model.set_now(workload_.now());
  const auto partition = static_cast<std::size_t>(delivery.partition.value());
  if (partition >= untold_.size() || delivery.records < 1 ||
      std::cmp_less(untold_[partition].size(), delivery.records)) {
    return violate(fmt::format("{} record(s) of partition {} were told of that were not sent",
                               delivery.records, delivery.partition.value()));
  }
  if (last_batch_[partition] && *last_batch_[partition] >= delivery.batch) {
    return violate(fmt::format("batch {} was told of behind {}", delivery.batch, *last_batch_[partition]));
  }
  last_batch_[partition] = delivery.batch;
  if (delivery.state == Delivery::State::acknowledged && is_current()) {
    const std::int64_t base = delivery.base_offset.value();
    if (base_epoch_[partition] == network_.epoch() && base < next_base_[partition]) {
      violate(fmt::format("a later batch got base offset {}, behind an earlier one's end {}", base,
                          next_base_[partition]));
    }
    base_epoch_[partition] = network_.epoch();
    next_base_[partition] = base + delivery.records;
  }
  const bool is_handed_over = delivery.state == Delivery::State::handed_over;
  handed_over_[partition] += is_handed_over ? delivery.records : 0;
  not_as_asked_ += is_handed_over || delivery.state == Delivery::State::acknowledged ? 0 : 1;
  for (std::int64_t index = 0; index < delivery.records; ++index) {
    const AttemptNumber attempt = untold_[partition].front();
    untold_[partition].pop_front();
    take_record(attempt, delivery, index);
  }
}

void LibraryProducer::take_record(AttemptNumber attempt, const Delivery& delivery, std::int64_t index) {
  Model& model = workload_.model;
  // One number for each connection of each client: what is unknown may lie behind what a later one sent.
  if (network_.connections() != connections_seen_) {
    connections_seen_ = network_.connections();
    connection_number_ = ++workload_.connections;
  }
  model.sent_over(attempt, connection_number_, network_.life());
  switch (delivery.state) {
    case Delivery::State::acknowledged: {
      model.count("library acknowledged");
      const bool forced = acks_ == wire::AckPolicy::forced;
      const std::int64_t offset = delivery.base_offset.value() + index;
      if (is_current()) {
        model.acked(attempt, 1, offset, offset + 1, forced);
      } else {
        model.acked_by_the_dead(attempt, 1, offset, forced);
      }
      return;
    }
    case Delivery::State::handed_over:
      model.count("library handed over");
      if (acks_ != wire::AckPolicy::none) {
        violate("a batch that wants an answer was only handed over");
      }
      return;
    case Delivery::State::refused:
      violate(fmt::format("a batch was refused: {}", delivery.failure->message));
      return;
    case Delivery::State::unknown:
      model.count("library unknown");
      return;
    case Delivery::State::not_sent:
      model.count("library not sent");
      model.refuse(attempt, 1);
      return;
  }
}

}  // namespace booblik::sim
