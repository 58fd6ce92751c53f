#include "sim/library_consumer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace booblik::sim {
namespace {

constexpr std::int64_t kRetryMillis = 200;
constexpr std::int64_t kResetMillisMax = 5'000;

// While one of these lives, somebody works on a position file.
class StoreUse {
 public:
  explicit StoreUse(Workload& workload) : open_(workload.open_stores) { ++open_; }
  StoreUse(const StoreUse&) = delete;
  StoreUse& operator=(const StoreUse&) = delete;
  ~StoreUse() { --open_; }

 private:
  std::int64_t& open_;
};

}  // namespace

LibraryConsumer::LibraryConsumer(Workload& workload, std::uint64_t number)
    : LibraryClient(workload, number),
      habits_(random_stream(number, "library consumer's habits")),
      power_(random_stream(number, "library consumer's power")),
      path_(fmt::format("positions-{}", number)) {}

void LibraryConsumer::run() {
  partition_ = random_.below(workload_.model.partitions());
  while (!workload_.ended() && resume()) {
    auto consumer = client::Consumer::open(roles_, draw_options());
    if (consumer) {
      use(**consumer);
      save();
    }
    pause(kRetryMillis);
  }
}

// A reader begins where the store says that the one before it has got to.
bool LibraryConsumer::resume() {
  lose_power();
  const StoreUse use(workload_);
  auto store = client::FilePositionStore::open(environment_.scheduler, environment_.disk, path_);
  if (!store) {
    violate("the position store does not open: " + store.error().message);
    return false;
  }
  store_ = std::move(*store);
  const auto stored = store_->load(workload_.topic_of(partition_), workload_.id_of(partition_));
  const std::int64_t position = stored && *stored ? (*stored)->value() : 0;
  if (!stored || position != saved_) {
    violate(fmt::format("the position store holds {}, saved was {}", position, saved_));
    return false;
  }
  position_ = position;
  workload_.model.count("library resumed");
  return true;
}

// The disk of the readers' machine is as after a power cut; what was saved is on it.
void LibraryConsumer::lose_power() {
  if (!power_.one_in(2) || workload_.open_stores > 0) {
    return;
  }
  workload_.world.probes().hit("sim.client.store_lost_power");
  workload_.world.outside_disk().lose_power();
}

void LibraryConsumer::save() {
  const StoreUse use(workload_);
  const client::StoredPosition position{workload_.topic_of(partition_), workload_.id_of(partition_),
                                        Offset(position_)};
  if (const auto saved = store_->save({&position, 1}); !saved) {
    return violate("the position is not saved: " + saved.error().message);
  }
  saved_ = position_;
}

client::ConsumerOptions LibraryConsumer::draw_options() {
  client::ConsumerOptions options;
  options.broker = broker();
  options.topic = workload_.topic_of(partition_);
  options.partition = workload_.id_of(partition_);
  options.start = {client::Start::At::offset, position_};
  options.max_bytes = static_cast<std::int32_t>(random_.one_in(4) ? between(random_, 1, 300)
                                                                  : between(random_, 1'100, 16'384));
  options.request_timeout = patience();
  options.hold = std::chrono::milliseconds(between(random_, 1, workload_.plan.wait_max_millis + 1));
  options.reconnect = draw_reconnect();
  options.on_connection = watch_connection();
  return options;
}

void LibraryConsumer::use(client::Consumer& consumer) {
  while (!workload_.ended() && !random_.one_in(40)) {
    if (!read(consumer)) {
      return;
    }
    if (random_.one_in(3)) {
      save();
    }
    if (random_.one_in(2)) {
      pause(workload_.plan.think_millis);
    }
  }
}

bool LibraryConsumer::read(client::Consumer& consumer) {
  epoch_ = workload_.model.epoch();
  end_before_ = workload_.model.known_end(partition_);
  recoveries_before_ = workload_.model.recoveries(partition_);
  const Deadline deadline(workload_.now() +
                          std::chrono::milliseconds(between(random_, 0, workload_.plan.wait_max_millis)));
  const auto batch = random_.one_in(3) ? consumer.poll() : consumer.follow(deadline);
  workload_.watch_cache();
  workload_.model.set_now(workload_.now());
  if (!batch) {
    return pass(consumer, batch.error());
  }
  check_batch(consumer, *batch);
  if (consumer.position().value() != position_) {
    violate(
        fmt::format("the consumer is at {}, its records end at {}", consumer.position().value(), position_));
  }
  return true;
}

void LibraryConsumer::check_batch(const client::Consumer& consumer, const client::ConsumedBatch& batch) {
  for (const client::Record& record : batch.records) {
    if (record.offset.value() != position_) {
      return violate(fmt::format("partition {}: record {} came where {} is next", partition_,
                                 record.offset.value(), position_));
    }
    workload_.model.count("library record");
    // What a broker said that is dead by now may be gone.
    if (is_current()) {
      workload_.model.fetched(partition_, position_, record.value);
    }
    ++position_;
  }
  if (!batch.records.empty()) {
    stuck_at_ = -1;
  }
  if (batch.records.empty() && batch.high_watermark > batch.next && consumer.connected()) {
    violate(fmt::format("partition {}: no records at {}, though the log ends at {}", partition_, position_,
                        batch.high_watermark.value()));
  }
  if (batch.next.value() != position_ || (!batch.records.empty() && batch.high_watermark < batch.next)) {
    violate(fmt::format("partition {}: a batch up to {} says next {} and high watermark {}", partition_,
                        position_, batch.next.value(), batch.high_watermark.value()));
  }
}

bool LibraryConsumer::pass(client::Consumer& consumer, const client::Failure& failure) {
  using Kind = client::FailureKind;
  switch (failure.kind) {
    case Kind::log_reset:
    case Kind::offset_out_of_range:
      check_bounds(failure);
      workload_.model.count(failure.kind == Kind::log_reset ? "library log reset" : "library out of range");
      if (failure.kind == Kind::log_reset && habits_.one_in(2) && !is_told_again(consumer)) {
        return false;
      }
      go_to(consumer, std::clamp(position_, workload_.model.known_start(partition_),
                                 workload_.model.known_end(partition_)));
      return true;
    case Kind::record_exceeds_max_bytes:
      workload_.model.count("library oversized");
      if (failure.offset != Offset(position_) || failure.record_bytes < kPayloadBytesMin) {
        violate("a record that is too large is not named: " + failure.message);
      }
      go_to(consumer, position_ + 1);
      return true;
    case Kind::corrupt_record:
      if (is_current()) {
        workload_.model.damaged(partition_, position_);
      }
      go_to(consumer, position_ + 1);
      return true;
    case Kind::unreachable:
    case Kind::lost:
    case Kind::timed_out:
      // A broker closes a connection that asks for what it has lost: the next reader has to pass it by.
      if (std::exchange(stuck_at_, position_) == position_ && position_ < end_before_) {
        ++position_;
      }
      return false;
    default:
      violate("a failure that cannot be: " + failure.message);
      return false;
  }
}

bool LibraryConsumer::is_told_again(client::Consumer& consumer) {
  using Kind = client::FailureKind;
  // Long enough for the log to grow over the position again.
  workload_.world.scheduler().sleep(Duration(between(habits_, 0, kResetMillisMax * 1'000'000)), "reset");
  const auto again = consumer.poll();
  workload_.watch_cache();
  workload_.model.set_now(workload_.now());
  if (!again && again.error().kind == Kind::log_reset) {
    workload_.model.count("library log reset again");
    return true;
  }
  if (again || (again.error().kind != Kind::unreachable && again.error().kind != Kind::lost &&
                again.error().kind != Kind::timed_out)) {
    violate(fmt::format("partition {}: the log was reset below {}, and the consumer goes on without a seek",
                        partition_, position_));
  }
  return false;
}

void LibraryConsumer::check_bounds(const client::Failure& failure) {
  const bool judged = is_current() && epoch_ == workload_.model.epoch() &&
                      recoveries_before_ == workload_.model.recoveries(partition_);
  if (!judged) {
    return;
  }
  if (failure.kind == client::FailureKind::log_reset && position_ <= end_before_) {
    violate(fmt::format("partition {}: the log was not reset: position {}, but the end was {}: {}",
                        partition_, position_, end_before_, failure.message));
  }
  if (failure.kind == client::FailureKind::offset_out_of_range && !workload_.retention_was_on &&
      !workload_.meddled_from.contains(partition_)) {
    violate(fmt::format("partition {}: {} is out of range though nothing is ever deleted", partition_,
                        position_));
  }
}

void LibraryConsumer::go_to(client::Consumer& consumer, std::int64_t position) {
  position_ = position;
  consumer.seek(Offset(position));
}

}  // namespace booblik::sim
