// The side of the reactor.
#include <algorithm>
#include <utility>

#include "library/producer_bridge.h"
#include "wire/request_encoder.h"

namespace booblik::library {
namespace {

// Memory that a queue keeps for its next use.
constexpr std::size_t kKeptQueueBytesMax = 4 * 1024 * 1024;

Delivered to_public(client::Delivery::State state) {
  switch (state) {
    case client::Delivery::State::acknowledged:
      return Delivered::acknowledged;
    case client::Delivery::State::handed_over:
      return Delivered::handed_over;
    case client::Delivery::State::refused:
      return Delivered::refused;
    case client::Delivery::State::unknown:
      return Delivered::unknown;
    case client::Delivery::State::not_sent:
      break;
  }
  return Delivered::not_sent;
}

// A failure that concerns one record only; any other is the end of the producer.
bool concerns_the_record(client::FailureKind kind) {
  return kind == client::FailureKind::invalid || kind == client::FailureKind::refused;
}

}  // namespace

Outcome<void> ProducerBridge::start() {
  const client::Roles roles = thread().roles();
  client::ProducerOptions options;
  options.broker = client_->broker;
  options.topic = options_.topic;
  options.acks = static_cast<wire::AckPolicy>(options_.acks);
  options.batch_bytes = options_.batch_bytes;
  options.batch_records = options_.batch_records;
  options.linger = options_.linger - gather_time_;
  options.in_flight_max = static_cast<std::size_t>(options_.in_flight_max);
  options.buffered_bytes_max = std::max<std::size_t>(options_.buffered_bytes_max - queue_bytes_max_, 1);
  options.connect_timeout = client_->connect_timeout;
  options.request_timeout = client_->request_timeout;
  options.reconnect = client_->reconnect;
  options.on_connection = on_connection(thread(), options_.on_connection);
  options.on_delivery = [this](const client::Delivery& delivery) { on_delivery(delivery); };
  auto producer = client::Producer::open(roles, std::move(options));
  if (!producer) {
    return to_public(producer.error());
  }
  producer_ = std::move(*producer);
  partition_count_ = producer_->partition_count();
  const wire::ProduceFrame frame(options_.topic, PartitionId(0), wire::AckPolicy::none);
  payload_bytes_max_ = std::min<std::size_t>(frame.payload_bytes_max(), wire::kMaxRecordPayloadBytes);
  accepted_.resize(static_cast<std::size_t>(partition_count_));
  fed_.resize(static_cast<std::size_t>(partition_count_));
  pump_fiber_->add();
  roles.scheduler.spawn("producer pump", [this] {
    run_pump();
    pump_fiber_->done();
  });
  return {};
}

void ProducerBridge::run_pump() {
  while (true) {
    gather();
    if (take()) {
      taken_.for_each([this](PartitionId partition, Bytes value) { feed(partition, value); });
      report_rejected();
      fed_records_ += taken_.count();
      taken_.clear(kKeptQueueBytesMax);
      progress_->notify_all();
      continue;
    }
    if (stopping_) {
      return;
    }
    pump_wanted_->wait(Deadline::never());
  }
}

// Waits until a batch is full, or half of the linger time is over.
void ProducerBridge::gather() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || flushes_ > 0 || queue_.empty() || gather_time_ == Duration::zero() ||
        queue_.bytes() >= gather_bytes_ || waiting_for_room_ > 0) {
      return;
    }
    pump_ = Pump::gathering;
  }
  const env::Clock& clock = thread().roles().clock;
  const Deadline deadline(clock.now() + gather_time_);
  while (!stopping_ && !deadline.passed(clock.now())) {
    {
      const std::lock_guard lock(mutex_);
      if (pump_ != Pump::gathering || flushes_ > 0) {
        return;
      }
    }
    pump_wanted_->wait(deadline);
  }
}

// The whole queue; false, and idle from now on, when there is nothing.
bool ProducerBridge::take() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) {
    pump_ = Pump::idle;
    return false;
  }
  pump_ = Pump::working;
  taken_.swap(queue_);
  if (waiting_for_room_ > 0) {
    room_.notify_all();
  }
  return true;
}

void ProducerBridge::feed(PartitionId partition, Bytes value) {
  std::int64_t& fed = fed_[static_cast<std::size_t>(partition.value())];
  told_while_feeding_.reset();
  const auto ticket = producer_->send_to(partition, value);
  if (!ticket) {
    reject(partition, fed, ticket.error());
  } else if (ticket->index == 0 && told_while_feeding_ != ticket->batch) {
    batch_first_.emplace(ticket->batch, fed);
  }
  ++fed;
}

void ProducerBridge::reject(PartitionId partition, std::int64_t number, const client::Failure& failure) {
  if (!concerns_the_record(failure.kind)) {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      ended_ = to_public(failure);
      room_.notify_all();
    }
  }
  const auto [entry, fresh] = rejected_.try_emplace(partition.value());
  Report& row = entry->second;
  if (!fresh &&
      (row.delivery.first + row.delivery.records != number || row.failure.message != failure.message)) {
    put_out(row.delivery, std::move(row.failure));
    row = {};
  }
  if (row.delivery.records++ == 0) {
    row.delivery.state = Delivered::not_sent;
    row.delivery.partition = partition.value();
    row.delivery.first = number;
    row.failure = to_public(failure);
  }
}

void ProducerBridge::report_rejected() {
  for (auto& [partition, row] : std::exchange(rejected_, {})) {
    put_out(row.delivery, std::move(row.failure));
  }
}

void ProducerBridge::on_delivery(const client::Delivery& delivery) {
  Delivery result;
  result.state = to_public(delivery.state);
  result.partition = delivery.partition.value();
  result.records = delivery.records;
  if (const auto known = batch_first_.find(delivery.batch); known != batch_first_.end()) {
    result.first = known->second;
    batch_first_.erase(known);
  } else {
    // It was opened and sealed by the record that is being fed: send_to has not returned its ticket yet.
    result.first = fed_[static_cast<std::size_t>(result.partition)];
    told_while_feeding_ = delivery.batch;
  }
  if (result.state == Delivered::acknowledged) {
    result.base_offset = delivery.base_offset.value();
  }
  Failure failure = delivery.failure != nullptr ? to_public(*delivery.failure) : Failure();
  failure.maybe_done = result.state == Delivered::unknown;
  put_out(result, std::move(failure));
}

void ProducerBridge::put_out(Delivery delivery, Failure failure) {
  if (delivery.state == Delivered::not_sent && !first_rejection_) {
    first_rejection_ = failure;
  }
  outbox_.push_back({delivery, std::move(failure)});
  if (!std::exchange(telling_, true)) {
    thread().post([this] { tell(); });
  }
}

void ProducerBridge::tell() {
  while (!outbox_.empty()) {
    const Report next = std::move(outbox_.front());
    outbox_.pop_front();
    tell_one(next.delivery, next.failure);
  }
  telling_ = false;
}

void ProducerBridge::tell_one(Delivery delivery, const Failure& failure) {
  const bool failed = delivery.state != Delivered::acknowledged && delivery.state != Delivered::handed_over;
  delivery.failure = failed ? &failure : nullptr;
  if (options_.on_delivery) {
    options_.on_delivery(delivery);
  }
  std::vector<std::pair<std::int64_t, OnReceipt>> due;
  {
    const std::lock_guard lock(mutex_);
    const auto begin = receipts_.lower_bound({delivery.partition, delivery.first});
    const auto end = receipts_.lower_bound({delivery.partition, delivery.first + delivery.records});
    for (auto entry = begin; entry != end; ++entry) {
      due.emplace_back(entry->first.second, std::move(entry->second));
    }
    receipts_.erase(begin, end);
  }
  for (auto& [number, on_receipt] : due) {
    Receipt receipt;
    receipt.state = delivery.state;
    receipt.partition = delivery.partition;
    if (delivery.state == Delivered::acknowledged) {
      receipt.offset = delivery.base_offset + (number - delivery.first);
    } else if (failed) {
      receipt.failure = failure;
    }
    on_receipt(receipt);
  }
}

// Until the pump has handed on everything that is accepted now.
void ProducerBridge::wait_until_fed() {
  std::int64_t target = 0;
  {
    const std::lock_guard lock(mutex_);
    target = accepted_records_;
    ++flushes_;
  }
  pump_wanted_->notify_all();
  while (fed_records_ < target) {
    progress_->wait(Deadline::never());
  }
  const std::lock_guard lock(mutex_);
  --flushes_;
}

Outcome<void> ProducerBridge::flush_on_reactor(bool close) {
  wait_until_fed();
  const auto flushed = close ? producer_->close() : producer_->flush();
  thread().run_posted();  // what is known has been told
  const auto rejection = std::exchange(first_rejection_, std::nullopt);
  if (!flushed) {
    return to_public(flushed.error());
  }
  if (rejection) {
    return *rejection;
  }
  return {};
}

void ProducerBridge::end() {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      ended_ = failure(FailureKind::closed, "the producer is closed");
    }
    room_.notify_all();
  }
  producer_->interrupt();
  stopping_ = true;
  pump_wanted_->notify_all();
  (void)pump_fiber_->wait(Deadline::never());
  producer_.reset();
  thread().run_posted();  // what is known has been told
}

}  // namespace booblik::library
