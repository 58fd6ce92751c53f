// The side of the user threads.
#include "library/producer_bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/partitioner.h"
#include "wire/request_encoder.h"

namespace booblik::library {
namespace {

Outcome<void> check(const ProducerOptions& options) {
  const auto invalid = [](std::string message) { return failure(FailureKind::invalid, std::move(message)); };
  if (options.acks < Acks::none || options.acks > Acks::forced) {
    return invalid("acks is none, written or forced");
  }
  if (options.batch_records < 1 || options.in_flight_max < 1) {
    return invalid("batch_records and in_flight_max are at least 1");
  }
  if (options.batch_bytes < 1 || options.buffered_bytes_max < 1) {
    return invalid("batch_bytes and buffered_bytes_max are at least 1");
  }
  if (options.linger < options.linger.zero() || options.linger > std::chrono::hours(1)) {
    return invalid("linger is at least 0 and at most an hour");
  }
  return check_timeout("send_timeout", options.send_timeout);
}

}  // namespace

ProducerBridge::ProducerBridge(std::shared_ptr<ClientState> client, ProducerOptions options)
    : client_(std::move(client)),
      options_(std::move(options)),
      // What is accepted waits here or in the producer below: each has half of the room and of the time.
      queue_bytes_max_(std::max<std::size_t>(options_.buffered_bytes_max / 2, 1)),
      gather_bytes_(std::min(options_.batch_bytes, queue_bytes_max_)),
      gather_time_(options_.linger / 2) {
  env::Scheduler& scheduler = thread().roles().scheduler;
  pump_wanted_ = std::make_unique<env::Event>(scheduler);
  progress_ = std::make_unique<env::Event>(scheduler);
  pump_fiber_ = std::make_unique<env::WaitGroup>(scheduler);
}

Outcome<std::unique_ptr<ProducerBridge>> ProducerBridge::open(std::shared_ptr<ClientState> client,
                                                              ProducerOptions options) {
  if (auto valid = check(options); !valid) {
    return valid.error();
  }
  ReactorThread& thread = *client->thread;
  if (thread.is_current()) {
    return called_from_callback("Producer::open");
  }
  std::unique_ptr<ProducerBridge> bridge(new ProducerBridge(std::move(client), std::move(options)));
  const auto opened = thread.call("open producer", [&]() -> Outcome<void> { return bridge->start(); });
  if (!opened) {
    return opened.error();
  }
  return bridge;
}

bool ProducerBridge::has_room(std::size_t bytes) const {
  return queue_.empty() || queue_.bytes() + bytes <= queue_bytes_max_;
}

Failure ProducerBridge::no_room() const {
  return failure(FailureKind::buffer_full,
                 fmt::format("topic '{}': {} bytes wait to be sent and there is no room for more",
                             options_.topic, queue_.bytes()));
}

std::int32_t ProducerBridge::choose(const Target& target) {
  switch (target.choice) {
    case Choice::round_robin:
      return std::exchange(next_partition_, (next_partition_ + 1) % partition_count_);
    case Choice::key:
      return client::partition_for_key(as_bytes(target.key), partition_count_).value();
    case Choice::partition:
      break;
  }
  return target.partition;
}

Outcome<void> ProducerBridge::wait_for_room(std::unique_lock<std::mutex>& lock, std::size_t bytes,
                                            bool may_wait) {
  if (!ended_ && !has_room(bytes)) {
    if (!may_wait) {
      return no_room();
    }
    if (thread().is_current()) {
      return called_from_callback("send");
    }
    if (std::exchange(pump_, Pump::working) != Pump::working) {
      wake_pump();
    }
    ++waiting_for_room_;
    room_.wait_for(lock, options_.send_timeout, [&] { return ended_ || has_room(bytes); });
    --waiting_for_room_;
    if (!ended_ && !has_room(bytes)) {
      return no_room();
    }
  }
  if (ended_) {
    return *ended_;
  }
  return {};
}

// Whether the pump has to be told of the record that was put into the queue just now.
bool ProducerBridge::wake_is_due() {
  const bool due = pump_ == Pump::idle || (pump_ == Pump::gathering && queue_.bytes() >= gather_bytes_);
  if (due) {
    pump_ = Pump::working;
  }
  return due;
}

Outcome<Ticket> ProducerBridge::send(const Target& target, std::string_view value, OnReceipt& on_receipt,
                                     bool may_wait) {
  if (value.empty()) {
    return failure(FailureKind::invalid, "a record must not be empty");
  }
  if (value.size() > payload_bytes_max_) {
    return failure(FailureKind::invalid,
                   fmt::format("a record of {} bytes is too large: at most {} fit a request", value.size(),
                               payload_bytes_max_));
  }
  if (target.choice == Choice::partition && (target.partition < 0 || target.partition >= partition_count_)) {
    return failure(FailureKind::invalid,
                   fmt::format("topic '{}' has {} partition(s), numbered from 0; there is no {}",
                               options_.topic, partition_count_, target.partition));
  }
  Ticket ticket;
  bool wake = false;
  {
    std::unique_lock lock(mutex_);
    if (auto room = wait_for_room(lock, value.size(), may_wait); !room) {
      return room.error();
    }
    ticket.partition = choose(target);
    ticket.number = accepted_[static_cast<std::size_t>(ticket.partition)];
    accept(ticket, value, on_receipt);
    wake = wake_is_due();
  }
  if (wake) {
    wake_pump();
  }
  return ticket;
}

// All of it or, when memory ends, nothing.
void ProducerBridge::accept(const Ticket& ticket, std::string_view value, OnReceipt& on_receipt) {
  if (!on_receipt) {
    queue_.push(PartitionId(ticket.partition), as_bytes(value));
  } else {
    const auto entry =
        receipts_.emplace(std::pair(ticket.partition, ticket.number), std::move(on_receipt)).first;
    try {
      queue_.push(PartitionId(ticket.partition), as_bytes(value));
    } catch (...) {
      receipts_.erase(entry);
      throw;
    }
  }
  ++accepted_[static_cast<std::size_t>(ticket.partition)];
  ++accepted_records_;
}

void ProducerBridge::wake_pump() {
  thread().post([this] { pump_wanted_->notify_all(); });
}

Outcome<void> ProducerBridge::flush() {
  if (thread().is_current()) {
    return called_from_callback("flush");
  }
  {
    const std::lock_guard lock(mutex_);
    if (ended_ && ended_->kind == FailureKind::closed) {
      return *ended_;
    }
  }
  return thread().call("flush", [this] { return flush_on_reactor(false); });
}

Outcome<void> ProducerBridge::close() {
  if (thread().is_current()) {
    return called_from_callback("close");
  }
  {
    const std::lock_guard lock(mutex_);
    if (ended_ && ended_->kind == FailureKind::closed) {
      return *ended_;
    }
    if (!ended_) {
      ended_ = failure(FailureKind::closed, "the producer is closed");
    }
    room_.notify_all();
  }
  return thread().call("close", [this] { return flush_on_reactor(true); });
}

}  // namespace booblik::library
