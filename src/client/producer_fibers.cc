// The two fibers of a producer: one sends batches, one receives answers.
#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "client/producer.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::client {
namespace {

Delivery delivery_of(const Batch& batch) {
  Delivery delivery;
  delivery.batch = batch.number;
  delivery.partition = batch.partition;
  delivery.records = batch.frame.count();
  return delivery;
}

}  // namespace

void Producer::run_sender() {
  while (true) {
    if (send_step()) {
      continue;
    }
    if (closing_ && accumulator_.empty()) {
      break;
    }
    work_.wait(linger_deadline());
  }
  fibers_.done();
}

bool Producer::send_step() {
  if (failure_) {
    return in_flight_.empty() && drop_unsent();  // what was sent before it is told before it
  }
  if (loss_) {
    // What is in flight is settled first: its outcomes are told before those of what comes next. And the
    // broker is only looked for when there is something to say to it.
    if (!in_flight_.empty() || receiving_ || !has_work()) {
      return false;
    }
    reconnect();
    return true;
  }
  if (window_is_full()) {
    return false;
  }
  if (fence_is_due()) {
    transmit_fence();
    return true;
  }
  std::unique_ptr<Batch> batch = take_ready();
  if (batch == nullptr) {
    return false;
  }
  transmit(std::move(batch));
  return true;
}

void Producer::reconnect() {
  auto next = reconnector_.connect(Deadline::never());
  if (failure_) {
    return;
  }
  if (!next) {
    return stop(next.error());
  }
  const std::size_t partitions = (*next)->topic.partitions.size();
  if (partitions != static_cast<std::size_t>(partition_count_)) {
    // Keys belong to other partitions now; what is gathered was not gathered for them.
    return stop(
        failed(FailureKind::topic_changed, fmt::format("topic '{}' had {} partition(s) and has {} now",
                                                       options_.topic, partition_count_, partitions))
            .error());
  }
  connection_ = std::move((*next)->connection);
  loss_.reset();
  receive_end_.reset();
  proven_ = options_.acks == wire::AckPolicy::none;
}

std::unique_ptr<Batch> Producer::take_ready() {
  if (!accumulator_.has_sealed()) {
    const Instant now = roles_.clock.now();
    if (const auto opened = accumulator_.oldest_opened(); opened && now - *opened >= options_.linger) {
      accumulator_.seal_opened_until(*opened);
    }
  }
  return accumulator_.take_sealed();
}

// When the oldest open batch has waited long enough; never while it cannot go anyway.
Deadline Producer::linger_deadline() const {
  const auto opened = accumulator_.oldest_opened();
  if (!opened || failure_ || loss_ || window_is_full()) {
    return Deadline::never();
  }
  return Deadline(*opened + options_.linger);
}

void Producer::transmit(std::unique_ptr<Batch> batch) {
  transmitting_ = batch->number;
  if (const auto usable = check_usable(); !usable) {
    accumulator_.put_back(std::move(batch));
    transmitting_.reset();
    return lose(usable.error());
  }
  const bool answered = options_.acks != wire::AckPolicy::none;
  const std::int32_t id = connection_->next_correlation_id();
  const Deadline deadline(roles_.clock.now() + options_.request_timeout);
  ++sent_;
  if (answered) {
    in_flight_.push_back({id, deadline, false, delivery_of(*batch), sent_});
    answers_.notify_all();
  }
  const std::uint64_t bytes_before = connection_->bytes_sent();
  const auto sent =
      connection_->send(batch->frame.finish(id), answered ? std::optional(id) : std::nullopt, deadline);
  transmitting_.reset();
  if (sent && !receive_end_) {
    if (!answered) {
      report(delivery_of(*batch), Delivery::State::handed_over, std::nullopt);
      reconnector_.progressed();
    }
    accumulator_.recycle(std::move(batch));
  } else {
    transmit_failed(std::move(batch), sent ? *receive_end_ : sent.error(),
                    connection_->bytes_sent() != bytes_before);
  }
  progress_.notify_all();
}

// A connection on which nothing is awaited may have ended long ago, and would take a batch all the same.
Outcome<void> Producer::check_usable() {
  if (!in_flight_.empty()) {
    return {};
  }
  auto idle = connection_->check_idle();
  if (failure_) {
    return std::unexpected(*failure_);
  }
  return idle;
}

void Producer::transmit_failed(std::unique_ptr<Batch> batch, const Failure& failure, bool any_of_it) {
  const bool answered = options_.acks != wire::AckPolicy::none;
  const bool awaited = answered && !in_flight_.empty() && !in_flight_.back().is_fence &&
                       in_flight_.back().delivery.batch == batch->number;
  if (answered && !awaited) {
    accumulator_.recycle(std::move(batch));  // it was answered before it had gone: the receiver has told it
  } else if (!any_of_it) {
    if (awaited) {
      in_flight_.pop_back();
    }
    if (in_flight_.empty()) {
      connection_->abort();  // ends the receiver's wait for it
    }
    --sent_;
    accumulator_.put_back(std::move(batch));
  } else {
    if (!answered || receive_end_) {
      report(delivery_of(*batch), Delivery::State::unknown, failure);
    }
    if (awaited && receive_end_) {
      in_flight_.pop_back();
      completed_ = sent_;
    }  // otherwise the receiver tells it, behind the batches before it
    accumulator_.recycle(std::move(batch));
  }
  lose(failure);
}

// The broker handles one connection's requests in order, so the answer to this METADATA says that it has
// taken every unanswered PRODUCE before it.
void Producer::transmit_fence() {
  if (const auto usable = check_usable(); !usable) {
    return lose(usable.error());
  }
  const std::int32_t id = connection_->next_correlation_id();
  const Deadline deadline(roles_.clock.now() + options_.request_timeout);
  std::vector<std::byte> frame;
  const std::string_view topic = options_.topic;
  wire::encode_metadata(frame, id, {&topic, 1});
  fence_at_.reset();
  in_flight_.push_back({id, deadline, true, {}, sent_});
  answers_.notify_all();
  if (const auto sent = connection_->send(frame, id, deadline); !sent) {
    lose(sent.error());
  }
}

void Producer::run_receiver() {
  while (true) {
    while (in_flight_.empty() ? !closing_ : receive_end_.has_value()) {
      answers_.wait(Deadline::never());
    }
    if (in_flight_.empty()) {
      break;
    }
    receiving_ = true;
    auto answer = connection_->receive(in_flight_.front().deadline);
    receiving_ = false;
    if (answer && (in_flight_.empty() || in_flight_.front().correlation_id != answer->correlation_id)) {
      answer = failed(FailureKind::bad_answer, "the broker answered a request that it cannot have read");
    }
    if (answer) {
      take_answer(*answer);
    } else {
      connection_->abort();  // after a timeout too: the answers behind the missing one cannot be told apart
      receive_end_ = answer.error();
      fail_in_flight(answer.error());
      lose(answer.error());
    }
  }
  fibers_.done();
}

void Producer::take_answer(const Connection::Answer& answer) {
  const InFlight request = in_flight_.front();
  in_flight_.pop_front();
  proven_ = true;
  reconnector_.progressed();
  settle(request, answer);
  completed_ = request.completes;
  work_.notify_all();
  progress_.notify_all();
}

void Producer::settle(const InFlight& request, const Connection::Answer& answer) {
  if (request.is_fence) {
    return;  // that it came is all there is to know
  }
  Delivery delivery = request.delivery;
  if (answer.error != wire::WireError::none) {
    return report(delivery, Delivery::State::refused,
                  refused(fmt::format("{} record(s) for {}-{}", delivery.records, options_.topic,
                                      delivery.partition.value()),
                          answer.error)
                      .error());
  }
  const auto decoded = wire::decode_produce_response(answer.frame);
  if (!decoded || decoded->log_end_offset - decoded->base_offset < delivery.records) {
    const Failure bad =
        failed(FailureKind::bad_answer,
               fmt::format("PRODUCE: {}", decoded ? "logEndOffset is too small" : decoded.error().reason))
            .error();
    report(delivery, Delivery::State::unknown, bad);
    return stop(bad);
  }
  delivery.base_offset = decoded->base_offset;
  report(delivery, Delivery::State::acknowledged, std::nullopt);
}

void Producer::report(Delivery delivery, Delivery::State state, std::optional<Failure> failure) {
  if (failure && !first_refusal_) {
    first_refusal_ = failure;
  }
  if (options_.on_delivery) {
    delivery.state = state;
    delivery.failure = failure ? &*failure : nullptr;
    options_.on_delivery(delivery);
  }
}

void Producer::lose(const Failure& failure) {
  if (!loss_ && !failure_) {
    if (!reconnector_.lost(failure)) {
      return stop(failure);
    }
    loss_ = failure;
    if (options_.acks == wire::AckPolicy::none && completed_ < sent_) {
      completed_ = sent_;  // nobody will ever say more about them
      first_refusal_ = first_refusal_.value_or(failure);
    }
    if (fence_at_ && *fence_at_ <= completed_) {
      fence_at_.reset();
    }
  }
  notify_all();
}

// Nothing more will be sent. The first cause stays.
void Producer::stop(const Failure& failure) {
  if (!failure_) {
    failure_ = failure;
  }
  notify_all();
}

void Producer::notify_all() {
  work_.notify_all();
  answers_.notify_all();
  progress_.notify_all();
}

bool Producer::drop_unsent() {
  accumulator_.seal_all();
  bool any = false;
  while (std::unique_ptr<Batch> batch = accumulator_.take_sealed()) {
    report(delivery_of(*batch), Delivery::State::not_sent, failure_);
    any = true;
  }
  progress_.notify_all();
  return any;
}

// All but the batch that is being sent just now, whose sender will know more.
void Producer::fail_in_flight(const Failure& failure) {
  while (!in_flight_.empty()) {
    const InFlight& request = in_flight_.front();
    if (!request.is_fence && transmitting_ == request.delivery.batch) {
      return;
    }
    if (!request.is_fence) {
      report(request.delivery, Delivery::State::unknown, failure);
      completed_ = request.completes;
    }
    in_flight_.pop_front();
  }
}

}  // namespace booblik::client
