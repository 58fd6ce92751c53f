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
  while (std::unique_ptr<Batch> batch = next_batch()) {
    transmit(std::move(batch));
  }
  fibers_.done();
}

// Waits for a batch that may be sent now; null when the producer is closing.
std::unique_ptr<Batch> Producer::next_batch() {
  while (true) {
    if (failure_) {
      drop_unsent();
    } else if (in_flight_.size() < options_.in_flight_max) {
      if (fence_is_due()) {
        transmit_fence();
        continue;
      }
      if (std::unique_ptr<Batch> batch = take_ready()) {
        return batch;
      }
    }
    if (closing_ && accumulator_.empty()) {
      return nullptr;
    }
    work_.wait(linger_deadline());
  }
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

// When the oldest open batch has waited long enough; never while the window is full, since it cannot go
// anyway.
Deadline Producer::linger_deadline() const {
  const auto opened = accumulator_.oldest_opened();
  if (!opened || failure_ || in_flight_.size() >= options_.in_flight_max) {
    return Deadline::never();
  }
  return Deadline(*opened + options_.linger);
}

void Producer::transmit(std::unique_ptr<Batch> batch) {
  const bool answered = options_.acks != wire::AckPolicy::none;
  const std::int32_t id = connection_->next_correlation_id();
  const Deadline deadline(roles_.clock.now() + options_.request_timeout);
  const Delivery delivery = delivery_of(*batch);
  ++sent_;
  if (answered) {
    in_flight_.push_back({id, deadline, false, delivery, sent_});
    answers_.notify_all();
  }
  transmitting_ = true;
  const auto sent =
      connection_->send(batch->frame.finish(id), answered ? std::optional(id) : std::nullopt, deadline);
  transmitting_ = false;
  accumulator_.recycle(std::move(batch));
  if (!answered) {
    Delivery done = delivery;
    done.state = sent ? Delivery::State::handed_over : Delivery::State::unknown;
    report(done, sent ? std::nullopt : std::optional(sent.error()));
  }
  if (!sent) {
    stop(sent.error());  // answers to earlier requests may still come: the receiver goes on
  }
  progress_.notify_all();
}

// The broker handles one connection's requests in order, so the answer to this METADATA says that it has
// taken every unanswered PRODUCE before it.
void Producer::transmit_fence() {
  const std::int32_t id = connection_->next_correlation_id();
  const Deadline deadline(roles_.clock.now() + options_.request_timeout);
  std::vector<std::byte> frame;
  const std::string_view topic = options_.topic;
  wire::encode_metadata(frame, id, {&topic, 1});
  fence_at_.reset();
  in_flight_.push_back({id, deadline, true, {}, sent_});
  answers_.notify_all();
  if (const auto sent = connection_->send(frame, id, deadline); !sent) {
    stop(sent.error());
  }
}

void Producer::run_receiver() {
  while (true) {
    while (in_flight_.empty() && !closing_) {
      answers_.wait(Deadline::never());
    }
    if (in_flight_.empty()) {
      break;
    }
    const auto answer = connection_->receive(in_flight_.front().deadline);
    if (!answer) {
      connection_->abort();  // after a timeout too: the answers behind the missing one cannot be told apart
      fail_in_flight(answer.error());
      stop(answer.error());
      continue;
    }
    const InFlight request = in_flight_.front();
    in_flight_.pop_front();
    settle(request, *answer);
    completed_ = request.completes;
    work_.notify_all();
    progress_.notify_all();
  }
  fibers_.done();
}

void Producer::settle(const InFlight& request, const Connection::Answer& answer) {
  if (request.is_fence) {
    return;  // that it came is all there is to know
  }
  Delivery delivery = request.delivery;
  if (answer.error != wire::WireError::none) {
    delivery.state = Delivery::State::refused;
    report(delivery, refused(fmt::format("{} record(s) for {}-{}", delivery.records, options_.topic,
                                         delivery.partition.value()),
                             answer.error)
                         .error());
    return;
  }
  const auto decoded = wire::decode_produce_response(answer.frame);
  if (!decoded || decoded->log_end_offset - decoded->base_offset < delivery.records) {
    const Failure bad =
        failed(FailureKind::bad_answer,
               fmt::format("PRODUCE: {}", decoded ? "logEndOffset is too small" : decoded.error().reason))
            .error();
    delivery.state = Delivery::State::unknown;
    report(delivery, bad);
    stop(bad);
    return;
  }
  delivery.state = Delivery::State::acknowledged;
  delivery.base_offset = decoded->base_offset;
  report(delivery, std::nullopt);
}

void Producer::report(Delivery delivery, std::optional<Failure> failure) {
  if (failure && !first_refusal_) {
    first_refusal_ = failure;
  }
  if (options_.on_delivery) {
    delivery.failure = failure ? &*failure : nullptr;
    options_.on_delivery(delivery);
  }
}

// Nothing more will be sent. The first cause stays.
void Producer::stop(const Failure& failure) {
  if (!failure_) {
    failure_ = failure;
  }
  work_.notify_all();
  answers_.notify_all();
  progress_.notify_all();
}

void Producer::drop_unsent() {
  accumulator_.seal_all();
  while (std::unique_ptr<Batch> batch = accumulator_.take_sealed()) {
    report(delivery_of(*batch), failure_);
  }
  progress_.notify_all();
}

void Producer::fail_in_flight(const Failure& failure) {
  while (!in_flight_.empty()) {
    Delivery delivery = in_flight_.front().delivery;
    const bool is_fence = in_flight_.front().is_fence;
    in_flight_.pop_front();
    delivery.state = Delivery::State::unknown;
    if (!is_fence) {
      report(delivery, failure);
    }
  }
}

}  // namespace booblik::client
