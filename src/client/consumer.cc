#include "client/consumer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "client/metadata.h"
#include "client/topic_connection.h"
#include "wire/request_encoder.h"

namespace booblik::client {
namespace {

// A held request is asked for v2 with at least so much, or it would be a plain poll.
constexpr std::chrono::milliseconds kShortestHold{1};

bool ends_connection(const Failure& failure) {
  return failure.kind == FailureKind::lost || failure.kind == FailureKind::timed_out ||
         failure.kind == FailureKind::bad_answer;
}

}  // namespace

Offset first_position(const Start& start, const wire::PartitionMetadata& partition) {
  switch (start.at) {
    case Start::At::beginning:
      return partition.log_start;
    case Start::At::end:
      return partition.high_watermark;
    case Start::At::offset:
      return Offset(start.number);
    case Start::At::before_end:
      break;
  }
  const std::int64_t there = partition.high_watermark - partition.log_start;
  return partition.high_watermark - std::min(start.number, there);
}

Outcome<std::unique_ptr<Consumer>> Consumer::open(Roles roles, ConsumerOptions options) {
  BOOBLIK_CHECK(options.max_bytes > 0 && options.max_bytes <= wire::kMaxFetchPayloadBytes,
                "max bytes lies between 1 and the largest payload");
  BOOBLIK_CHECK(options.start.number >= 0, "a start is not negative");
  auto opened = connect_to_topic(roles, options.broker, options.topic, options.connect_timeout,
                                 options.request_timeout);
  if (!opened) {
    return std::unexpected(std::move(opened.error()));
  }
  const auto index = static_cast<std::size_t>(options.partition.value());
  if (options.partition.value() < 0 || index >= opened->topic.partitions.size()) {
    return no_such_partition(options.topic, opened->topic.partitions.size(), options.partition);
  }
  return std::unique_ptr<Consumer>(new Consumer(roles, std::move(options), std::move(opened->connection),
                                                opened->topic.partitions[index]));
}

Consumer::Consumer(Roles roles, ConsumerOptions options, std::unique_ptr<Connection> connection,
                   wire::PartitionMetadata opened_at)
    : roles_(roles),
      options_(std::move(options)),
      reconnector_(
          roles,
          {.broker = options_.broker, .topic = options_.topic, .attempt_timeout = options_.connect_timeout},
          options_.reconnect, options_.on_connection),
      connection_(std::move(connection)),
      opened_at_(opened_at),
      position_(first_position(options_.start, opened_at)),
      high_watermark_(opened_at.high_watermark) {}

Outcome<ConsumedBatch> Consumer::poll() {
  return fetch(Deadline::never(), false);
}

Outcome<ConsumedBatch> Consumer::follow(Deadline deadline) {
  while (true) {
    const bool last = deadline.passed(roles_.clock.now());
    auto batch = fetch(deadline, !last);
    if (!batch || !batch->records.empty() || last) {
      return batch;
    }
  }
}

std::chrono::milliseconds Consumer::hold_until(Deadline deadline) const {
  auto hold = options_.hold;
  if (!deadline.is_never()) {
    const Duration left = deadline.at() - roles_.clock.now();
    hold = std::min(hold, std::chrono::floor<std::chrono::milliseconds>(left));
  }
  return std::max(hold, kShortestHold);
}

Outcome<ConsumedBatch> Consumer::replay() {
  const Offset before = position_;
  if (before == end_offset()) {
    return ConsumedBatch{{}, position_, end_offset()};
  }
  auto batch = poll();  // beyond the end too: it says whether there is such an offset
  if (batch && batch->next > end_offset()) {
    const std::int64_t wanted = std::max<std::int64_t>(end_offset() - before, 0);
    batch->records = batch->records.first(static_cast<std::size_t>(wanted));
    batch->next = position_ = before + wanted;
  }
  return batch;
}

Outcome<ConsumedBatch> Consumer::fetch(Deadline deadline, bool hold) {
  while (true) {
    if (interrupted_) {
      return interrupted();
    }
    if (failure_) {
      return std::unexpected(*failure_);
    }
    if (connection_ == nullptr) {
      const auto ready = reconnect(deadline);
      if (!ready) {
        return std::unexpected(ready.error());
      }
      if (!*ready) {
        return ConsumedBatch{{}, position_, high_watermark_};
      }
    }
    if (reset_) {
      return std::unexpected(*reset_);
    }
    auto batch = fetch_once(hold ? hold_until(deadline) : std::chrono::milliseconds(0));
    if (batch || interrupted_ || !ends_connection(batch.error())) {
      return batch;
    }
    connection_.reset();
    if (!reconnector_.lost(batch.error())) {
      failure_ = batch.error();
      return batch;
    }
  }
}

Outcome<bool> Consumer::reconnect(Deadline deadline) {
  auto next = reconnector_.connect(deadline);
  if (interrupted_) {
    return interrupted();
  }
  if (!next) {
    failure_ = next.error();
    return std::unexpected(std::move(next.error()));
  }
  if (!*next) {
    return false;
  }
  const auto index = static_cast<std::size_t>(options_.partition.value());
  const std::vector<wire::PartitionMetadata>& partitions = (*next)->topic.partitions;
  if (index >= partitions.size()) {
    failure_ = no_such_partition(options_.topic, partitions.size(), options_.partition).error();
    failure_->kind = FailureKind::topic_changed;
    return std::unexpected(*failure_);
  }
  connection_ = std::move((*next)->connection);
  high_watermark_ = partitions[index].high_watermark;
  if (position_ > high_watermark_) {
    static_cast<void>(note_reset(partitions[index]));
  }
  return true;
}

Outcome<ConsumedBatch> Consumer::fetch_once(std::chrono::milliseconds wait) {
  const auto answer = fetch_bytes(options_.max_bytes, wait);
  if (!answer) {
    return std::unexpected(answer.error());
  }
  return take(*answer);
}

Outcome<wire::FetchResponse> Consumer::fetch_bytes(std::int32_t max_bytes, std::chrono::milliseconds wait) {
  const auto answer = ask(max_bytes, wait);
  if (!answer) {
    return std::unexpected(answer.error());
  }
  if (answer->error == wire::WireError::offset_out_of_range) {
    return explain_out_of_range();
  }
  if (answer->error != wire::WireError::none) {
    return refused(where(), answer->error);
  }
  const auto decoded = wire::decode_fetch_response(answer->frame);
  if (!decoded) {
    return failed(FailureKind::bad_answer, fmt::format("{}: {}", where(), decoded.error().reason));
  }
  if (decoded->payload.size() > static_cast<std::size_t>(max_bytes)) {
    return failed(FailureKind::bad_answer, fmt::format("{}: the answer has {} bytes, asked were {}", where(),
                                                       decoded->payload.size(), max_bytes));
  }
  return *decoded;
}

Outcome<Connection::Answer> Consumer::ask(std::int32_t max_bytes, std::chrono::milliseconds wait) {
  if (position_ < Offset(0)) {
    return failed(FailureKind::invalid, fmt::format("{}: there are no negative offsets", where()));
  }
  request_.clear();
  const std::int32_t id = connection_->next_correlation_id();
  wire::encode_fetch(request_, id, options_.topic, options_.partition, position_, max_bytes, wait,
                     wait.count() > 0 ? 1 : 0);
  const Deadline deadline(roles_.clock.now() + wait + options_.request_timeout);
  auto answer = connection_->call(request_, id, deadline);
  if (!answer && interrupted_) {
    return interrupted();
  }
  if (answer) {
    reconnector_.progressed();
  }
  return answer;
}

Outcome<ConsumedBatch> Consumer::take(const wire::FetchResponse& answer) {
  records_.clear();
  const SplitEnd end = split_records(answer.payload, position_, records_);
  high_watermark_ = answer.high_watermark;
  if (answer.high_watermark < end.next) {
    return failed(FailureKind::bad_answer, fmt::format("{}: the answer goes beyond its high watermark {}",
                                                       where(), answer.high_watermark.value()));
  }
  if (!records_.empty()) {
    position_ = end.next;  // what is behind a corrupt record or an incomplete one is for the next call
    return ConsumedBatch{records_, end.next, answer.high_watermark};
  }
  if (end.corrupt != nullptr) {
    return corrupt(end.corrupt);
  }
  if (end.tail_bytes > 0 && answer.payload.size() < static_cast<std::size_t>(options_.max_bytes)) {
    return corrupt("the log ends inside it");
  }
  if (end.tail_bytes > 0) {
    return explain_oversized(end.tail_record_bytes);
  }
  if (answer.high_watermark > position_) {
    return failed(FailureKind::bad_answer, fmt::format("{}: an empty answer, but the high watermark is {}",
                                                       where(), answer.high_watermark.value()));
  }
  return ConsumedBatch{{}, position_, answer.high_watermark};
}

// Which side the position has left the log on is not in the error code, so the broker is asked.
std::unexpected<Failure> Consumer::explain_out_of_range() {
  const auto topic =
      ask_topic(*connection_, options_.topic, Deadline(roles_.clock.now() + options_.request_timeout));
  if (!topic) {
    return std::unexpected(topic.error());
  }
  const auto index = static_cast<std::size_t>(options_.partition.value());
  if (index >= topic->partitions.size()) {
    return refused(where(), wire::WireError::unknown_topic_or_partition);
  }
  const wire::PartitionMetadata& now = topic->partitions[index];
  if (position_ >= now.log_start) {
    return note_reset(now);  // also when the log has grown past it meanwhile: a start never goes back
  }
  return failed(
      FailureKind::offset_out_of_range,
      fmt::format("{}: the offset is no longer there: the log starts at {}", where(), now.log_start.value()));
}

// No retry brings this record: it never fits. If not even its size was in the answer, a few more bytes tell
// it.
std::unexpected<Failure> Consumer::explain_oversized(std::optional<std::int32_t> record_bytes) {
  if (!record_bytes) {
    const auto answer = fetch_bytes(wire::kRecordHeaderBytes, std::chrono::milliseconds(0));
    if (!answer) {
      return std::unexpected(answer.error());
    }
    record_bytes = ByteReader(answer->payload).read<std::int32_t>();
  }
  if (!record_bytes || *record_bytes <= 0) {
    return corrupt("it has no size");
  }
  auto failure =
      failed(FailureKind::record_exceeds_max_bytes,
             fmt::format("{}: the record has {} bytes and with its header of {} exceeds max bytes ({})",
                         where(), *record_bytes, wire::kRecordHeaderBytes, options_.max_bytes));
  failure.error().offset = position_;
  failure.error().record_bytes = *record_bytes;
  return failure;
}

std::unexpected<Failure> Consumer::corrupt(std::string_view reason) const {
  auto failure =
      failed(FailureKind::corrupt_record, fmt::format("{}: the record is corrupt: {}", where(), reason));
  failure.error().offset = position_;
  return failure;
}

std::unexpected<Failure> Consumer::note_reset(const wire::PartitionMetadata& now) {
  reset_ = failed(FailureKind::log_reset,
                  fmt::format("{}: the log was reset below my position: it has offsets {} to {}", where(),
                              now.log_start.value(), now.high_watermark.value()))
               .error();
  return std::unexpected(*reset_);
}

std::unexpected<Failure> Consumer::interrupted() const {
  return failed(FailureKind::closed, fmt::format("{}: interrupted", where()));
}

// "orders-2 @ 17"
std::string Consumer::where() const {
  return fmt::format("{}-{} @ {}", options_.topic, options_.partition.value(), position_.value());
}

void Consumer::interrupt() {
  interrupted_ = true;
  reconnector_.cancel();
  if (connection_ != nullptr) {
    connection_->abort();
  }
}

}  // namespace booblik::client
