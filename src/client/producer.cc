#include "client/producer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "client/partitioner.h"
#include "client/topic_connection.h"
#include "wire/request_encoder.h"

namespace booblik::client {

Outcome<std::unique_ptr<Producer>> Producer::open(Roles roles, ProducerOptions options) {
  BOOBLIK_CHECK(options.batch_records > 0 && options.in_flight_max > 0,
                "a batch and a window hold at least one");
  auto opened = connect_to_topic(roles, options.broker, options.topic, options.connect_timeout,
                                 options.request_timeout);
  if (!opened) {
    return std::unexpected(std::move(opened.error()));
  }
  const auto partition_count = static_cast<std::int32_t>(opened->topic.partitions.size());
  std::unique_ptr<Producer> producer(
      new Producer(roles, std::move(options), std::move(opened->connection), partition_count));
  producer->start();
  return producer;
}

Producer::Producer(Roles roles, ProducerOptions options, std::unique_ptr<Connection> connection,
                   std::int32_t partition_count)
    : roles_(roles),
      options_(std::move(options)),
      reconnector_(
          roles,
          {.broker = options_.broker, .topic = options_.topic, .attempt_timeout = options_.connect_timeout},
          options_.reconnect, options_.on_connection),
      connection_(std::move(connection)),
      partition_count_(partition_count),
      accumulator_(roles.clock, options_.topic, partition_count, options_.acks,
                   {.frame_bytes = options_.batch_bytes, .records = options_.batch_records}),
      work_(roles.scheduler),
      answers_(roles.scheduler),
      progress_(roles.scheduler),
      fibers_(roles.scheduler) {}

void Producer::start() {
  fibers_.add();
  roles_.scheduler.spawn("producer sender", [this] { run_sender(); });
  fibers_.add();
  roles_.scheduler.spawn("producer receiver", [this] { run_receiver(); });
}

Producer::~Producer() {
  if (!closing_) {
    interrupt();
    end_fibers();
  }
}

void Producer::interrupt() {
  give_up();
  connection_->abort();
}

Outcome<Ticket> Producer::send(Bytes value) {
  const PartitionId partition(next_partition_);
  auto ticket = send_to(partition, value);
  if (ticket) {
    next_partition_ = (partition.value() + 1) % partition_count_;
  }
  return ticket;
}

Outcome<Ticket> Producer::send_keyed(Bytes key, Bytes value) {
  return send_to(partition_for_key(key, partition_count_), value);
}

Outcome<Ticket> Producer::send_to(PartitionId partition, Bytes value) {
  if (value.empty()) {
    return failed(FailureKind::invalid, "a record must not be empty");
  }
  if (value.size() > accumulator_.payload_bytes_max()) {
    return failed(FailureKind::invalid,
                  fmt::format("a record of {} bytes is too large: at most {} fit a request", value.size(),
                              accumulator_.payload_bytes_max()));
  }
  if (partition.value() < 0 || partition.value() >= partition_count_) {
    return no_such_partition(options_.topic, static_cast<std::size_t>(partition_count_), partition);
  }
  if (auto room = wait_for_room(value.size()); !room) {
    return std::unexpected(std::move(room.error()));
  }
  const bool had_open = accumulator_.oldest_opened().has_value();
  const std::uint64_t sealed = accumulator_.sealed_count();
  const Ticket ticket = accumulator_.add(partition, value);
  if (accumulator_.sealed_count() != sealed) {
    work_.notify_all();
    roles_.scheduler
        .yield();  // a caller that never parks would fill the whole buffer before anything is sent
  } else if (!had_open) {
    work_.notify_all();
  }
  return ticket;
}

Outcome<void> Producer::wait_for_room(std::size_t bytes) {
  while (!failure_ && !closing_ && !accumulator_.empty() &&
         accumulator_.buffered_bytes() + bytes > options_.buffered_bytes_max) {
    if (!accumulator_.has_sealed() && !transmitting_) {
      // Batches that linger hold the room that is waited for. Only the oldest goes: sealing all would make
      // many small requests of the records that come next.
      accumulator_.seal_opened_until(*accumulator_.oldest_opened());
    }
    work_.notify_all();
    progress_.wait(Deadline::never());
  }
  if (failure_) {
    return std::unexpected(*failure_);
  }
  if (closing_) {
    return failed(FailureKind::closed, "the producer is closed");
  }
  return {};
}

Outcome<void> Producer::flush() {
  accumulator_.seal_all();
  const std::uint64_t target = accumulator_.sealed_count();
  if (options_.acks == wire::AckPolicy::none && completed_ < target) {
    fence_at_ = target;
  }
  work_.notify_all();
  while (completed_ < target && !all_is_over()) {
    progress_.wait(Deadline::never());
  }
  if (first_refusal_) {
    return std::unexpected(*std::exchange(first_refusal_, std::nullopt));
  }
  if (failure_) {
    return std::unexpected(*failure_);
  }
  return {};
}

void Producer::give_up() {
  stop(failed(FailureKind::closed, "the producer was told to give up").error());
  reconnector_.cancel();
}

Outcome<void> Producer::close() {
  if (closing_) {
    return failed(FailureKind::closed, "the producer is closed");
  }
  auto flushed = flush();
  end_fibers();
  return flushed;
}

void Producer::end_fibers() {
  closing_ = true;
  work_.notify_all();
  answers_.notify_all();
  progress_.notify_all();
  (void)fibers_.wait(
      Deadline::never());  // false only when a simulated world ends, and its fibers before this one
}

}  // namespace booblik::client
