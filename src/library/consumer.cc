#include <booblik/consumer.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "client/consumer.h"
#include "library/translate.h"

namespace booblik {

namespace library {

// Each call is a fiber's; the calling thread waits for it, so nothing here is used by two threads at once but
// what interrupt() posts.
class ConsumerBridge {
 public:
  static Outcome<std::unique_ptr<ConsumerBridge>> open(std::shared_ptr<ClientState> client,
                                                       const ConsumerOptions& options);

  explicit ConsumerBridge(std::shared_ptr<ClientState> client) : client_(std::move(client)) {}

  // `read` is one of client::Consumer's three, on a fiber.
  template <class Read>
  Outcome<RecordBatch> read(const char* name, Read&& read) {
    if (thread().is_current()) {
      return called_from_callback(name);
    }
    return thread().call(name, [&]() -> Outcome<RecordBatch> {
      if (consumer_->position() != Offset(position_)) {
        consumer_->seek(Offset(position_));
      }
      const auto batch = read(*consumer_);
      position_ = consumer_->position().value();
      if (!batch) {
        return to_public(batch.error());
      }
      return show(*batch);
    });
  }

  [[nodiscard]] ReactorThread& thread() const { return *client_->thread; }
  [[nodiscard]] std::int64_t position() const { return position_; }
  void seek(std::int64_t position) { position_ = position; }
  [[nodiscard]] const client::Consumer& consumer() const { return *consumer_; }

  void interrupt() {
    thread().post([this] { consumer_->interrupt(); });
  }
  // On a fiber of the reactor.
  void end() {
    consumer_.reset();
    thread().run_posted();
  }

 private:
  RecordBatch show(const client::ConsumedBatch& batch) {
    records_.resize(batch.records.size());
    Record* to = records_.data();
    for (const client::Record& record : batch.records) {
      *to++ = {record.offset.value(), as_text(record.value)};
    }
    return {records_.data(), records_.size(), batch.next.value(), batch.high_watermark.value()};
  }

  std::shared_ptr<ClientState> client_;
  std::unique_ptr<client::Consumer> consumer_;
  std::vector<Record> records_;
  std::int64_t position_ = 0;
};

namespace {

Outcome<void> check(const ConsumerOptions& options) {
  if (options.max_bytes < 1 || options.max_bytes > wire::kMaxFetchPayloadBytes) {
    return failure(FailureKind::invalid, "max_bytes is 1 to 8388590");
  }
  if (options.start_number < 0) {
    return failure(FailureKind::invalid, "start_number is not negative");
  }
  if (options.start_at < StartAt::beginning || options.start_at > StartAt::before_end) {
    return failure(FailureKind::invalid, "start_at is none of the four");
  }
  if (options.hold < std::chrono::milliseconds(1) ||
      options.hold > std::chrono::milliseconds(wire::kMaxFetchWaitMillis)) {
    return failure(FailureKind::invalid, "hold is 1 ms to 60 s");
  }
  return {};
}

void dispose(std::unique_ptr<ConsumerBridge> bridge) {
  if (bridge == nullptr) {
    return;
  }
  ReactorThread& thread = bridge->thread();
  if (thread.is_current()) {
    thread.spawn("end consumer", [bridge = std::move(bridge)] { bridge->end(); });
  } else {
    thread.call("end consumer", [&] { bridge->end(); });
  }
}

}  // namespace

Outcome<std::unique_ptr<ConsumerBridge>> ConsumerBridge::open(std::shared_ptr<ClientState> client,
                                                              const ConsumerOptions& options) {
  if (auto valid = check(options); !valid) {
    return valid.error();
  }
  auto bridge = std::make_unique<ConsumerBridge>(std::move(client));
  if (bridge->thread().is_current()) {
    return called_from_callback("Consumer::open");
  }
  const auto opened = bridge->thread().call("open consumer", [&]() -> Outcome<void> {
    client::ConsumerOptions inner;
    inner.broker = bridge->client_->broker;
    inner.topic = options.topic;
    inner.partition = PartitionId(options.partition);
    inner.start = {static_cast<client::Start::At>(options.start_at), options.start_number};
    inner.max_bytes = options.max_bytes;
    inner.hold = options.hold;
    inner.connect_timeout = bridge->client_->connect_timeout;
    inner.request_timeout = bridge->client_->request_timeout;
    inner.reconnect = bridge->client_->reconnect;
    inner.on_connection = on_connection(bridge->thread(), options.on_connection);
    auto consumer = client::Consumer::open(bridge->thread().roles(), std::move(inner));
    if (!consumer) {
      return to_public(consumer.error());
    }
    bridge->consumer_ = std::move(*consumer);
    bridge->position_ = bridge->consumer_->position().value();
    return {};
  });
  if (!opened) {
    return opened.error();
  }
  return bridge;
}

}  // namespace library

static_assert(static_cast<int>(StartAt::beginning) == static_cast<int>(client::Start::At::beginning) &&
              static_cast<int>(StartAt::end) == static_cast<int>(client::Start::At::end) &&
              static_cast<int>(StartAt::offset) == static_cast<int>(client::Start::At::offset) &&
              static_cast<int>(StartAt::before_end) == static_cast<int>(client::Start::At::before_end));

Outcome<Consumer> Consumer::open(const Client& client, ConsumerOptions options) {
  auto bridge = library::ConsumerBridge::open(library::ClientState::of(client), options);
  if (!bridge) {
    return bridge.error();
  }
  return Consumer(std::move(*bridge));
}

Consumer::Consumer(std::unique_ptr<library::ConsumerBridge> bridge) : bridge_(std::move(bridge)) {}

Consumer::Consumer(Consumer&& other) noexcept = default;

Consumer& Consumer::operator=(Consumer&& other) noexcept {
  if (this != &other) {
    library::dispose(std::exchange(bridge_, std::move(other.bridge_)));
  }
  return *this;
}

Consumer::~Consumer() {
  library::dispose(std::move(bridge_));
}

Outcome<RecordBatch> Consumer::poll() {
  return bridge_->read("poll", [](client::Consumer& consumer) { return consumer.poll(); });
}

Outcome<RecordBatch> Consumer::follow(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 366);
  const Duration wait = std::clamp(timeout, std::chrono::milliseconds(0), kLongest);
  return bridge_->read("follow", [this, wait](client::Consumer& consumer) {
    return consumer.follow(Deadline(bridge_->thread().roles().clock.now() + wait));
  });
}

Outcome<RecordBatch> Consumer::follow() {
  return bridge_->read("follow",
                       [](client::Consumer& consumer) { return consumer.follow(Deadline::never()); });
}

Outcome<RecordBatch> Consumer::replay() {
  return bridge_->read("replay", [](client::Consumer& consumer) { return consumer.replay(); });
}

std::int64_t Consumer::position() const noexcept {
  return bridge_->position();
}

void Consumer::seek(std::int64_t offset) noexcept {
  bridge_->seek(offset);
}

std::int64_t Consumer::start_offset() const noexcept {
  return bridge_->consumer().start_offset().value();
}

std::int64_t Consumer::end_offset() const noexcept {
  return bridge_->consumer().end_offset().value();
}

void Consumer::interrupt() noexcept {
  bridge_->interrupt();
}

}  // namespace booblik
