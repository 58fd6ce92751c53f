#include "cli/bench/produce_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "env/sync.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::cli {
namespace {

// So many requests leave in one send at the most, and about so many bytes.
constexpr std::int64_t kBurstMax = 32;
constexpr std::int64_t kBurstBytes = 256 * 1024;

// One connection of the load: a sender and a receiver fiber.
class Stream {
 public:
  Stream(env::Environment& environment, const ProduceLoad& load, std::int64_t number)
      : environment_(environment), load_(load), number_(number), changed_(environment.scheduler) {
    const std::vector<std::byte> payload(static_cast<std::size_t>(load.record_bytes), std::byte{'x'});
    const std::vector<Bytes> payloads(static_cast<std::size_t>(load.batch_records), Bytes(payload));
    wire::encode_produce(block_, 0, load.topic,
                         PartitionId(static_cast<std::int32_t>(number % load.partitions)), load.acks,
                         payloads);
    const std::vector<std::byte> frame = block_;
    frame_bytes_ = frame.size();
    burst_ = std::clamp<std::int64_t>(kBurstBytes / static_cast<std::int64_t>(frame_bytes_), 1, kBurstMax);
    for (std::int64_t i = 1; i < burst_; ++i) {
      block_.insert(block_.end(), frame.begin(), frame.end());
    }
  }

  Result<void> connect() {
    const Deadline deadline(environment_.clock.now() + std::chrono::seconds(5));
    auto connected = environment_.network.connect(load_.host, load_.port, deadline);
    if (!connected) {
      return std::unexpected(connected.error());
    }
    connection_ = std::move(*connected);
    return {};
  }

  void start(Instant begin, Instant count_from, Instant end, env::WaitGroup& group) {
    begin_ = begin;
    count_from_ = count_from;
    end_ = end;
    group.add();
    environment_.scheduler.spawn("load sender", [this, &group] {
      send_requests();
      group.done();
    });
    group.add();
    environment_.scheduler.spawn("load receiver", [this, &group] {
      receive_answers();
      group.done();
    });
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::int64_t counted() const { return counted_; }
  [[nodiscard]] const Latencies& latencies() const { return latencies_; }

 private:
  void send_requests() {
    while (!error_ && environment_.clock.now() < end_) {
      const std::int64_t due = requests_due();
      if (due == 0) {
        changed_.wait(load_.requests_per_second > 0 ? Deadline(departure(sent_)) : Deadline(end_));
        continue;
      }
      send(std::min(due, burst_));
    }
    sending_done_ = true;
    connection_->shutdown_send();
  }

  // When request `i` of this connection should leave. Connections take turns.
  [[nodiscard]] Instant departure(std::int64_t i) const {
    const double place = static_cast<double>(i * load_.connections + number_);
    return begin_ + Duration(static_cast<std::int64_t>(place * 1e9 / load_.requests_per_second));
  }

  [[nodiscard]] std::int64_t requests_due() const {
    if (load_.requests_per_second <= 0) {
      return load_.depth - static_cast<std::int64_t>(departures_.size());
    }
    std::int64_t due = 0;
    const Instant now = environment_.clock.now();
    while (due < burst_ && departure(sent_ + due) <= now) {
      ++due;
    }
    return due;
  }

  void send(std::int64_t requests) {
    const Instant now = environment_.clock.now();
    for (std::int64_t i = 0; i < requests; ++i) {
      std::byte* frame = block_.data() + static_cast<std::size_t>(i) * frame_bytes_;
      store_big_endian(frame + 8, static_cast<std::int32_t>(sent_));
      departures_.push_back(load_.requests_per_second > 0 ? departure(sent_) : now);
      ++sent_;
    }
    Bytes rest(block_.data(), static_cast<std::size_t>(requests) * frame_bytes_);
    while (!rest.empty()) {
      const std::array<Bytes, 1> parts{rest};
      const auto handed_over = connection_->send(parts, Deadline(end_ + std::chrono::seconds(10)));
      if (!handed_over) {
        set_error(handed_over.error());
        return;
      }
      rest = rest.subspan(*handed_over);
    }
  }

  void receive_answers() {
    std::vector<std::byte> buffer(64 * 1024);
    std::size_t used = 0;
    while (!error_ && !(sending_done_ && departures_.empty())) {
      const auto received =
          connection_->receive(MutableBytes(buffer).subspan(used), Deadline(end_ + std::chrono::seconds(10)));
      if (!received || *received == 0) {
        if (!received || !departures_.empty()) {
          set_error(received ? Error{ErrorCode::reset, "the broker closed the connection"}
                             : received.error());
        }
        return;
      }
      used += *received;
      const std::size_t taken = take_answers(Bytes(buffer).first(used));
      std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(taken),
                buffer.begin() + static_cast<std::ptrdiff_t>(used), buffer.begin());
      used -= taken;
      changed_.notify_all();
    }
  }

  std::size_t take_answers(Bytes bytes) {
    const Instant now = environment_.clock.now();
    std::size_t taken = 0;
    while (bytes.size() - taken >= wire::kErrorResponseBytes) {
      const std::byte* frame = bytes.data() + taken;
      const auto error = static_cast<wire::WireError>(load_big_endian<std::int16_t>(frame + 8));
      if (error != wire::WireError::none) {
        set_error({ErrorCode::invalid,
                   fmt::format("the broker answered with error code {}", static_cast<int>(error))});
        return taken;
      }
      if (bytes.size() - taken < wire::kProduceResponseBytes) {
        break;
      }
      if (load_big_endian<std::int32_t>(frame + 4) != static_cast<std::int32_t>(answered_) ||
          departures_.empty()) {
        set_error({ErrorCode::invalid, "an answer came out of order"});
        return taken;
      }
      taken += wire::kProduceResponseBytes;
      ++answered_;
      const Instant departed = departures_.front();
      departures_.pop_front();
      if (now >= count_from_ && now < end_) {
        ++counted_;
        latencies_.add(now - departed);
      }
    }
    return taken;
  }

  void set_error(Error error) {
    if (!error_) {
      error_ = std::move(error);
      connection_->abort();
      changed_.notify_all();
    }
  }

  env::Environment& environment_;
  const ProduceLoad& load_;
  const std::int64_t number_;
  std::unique_ptr<env::Connection> connection_;
  env::Event changed_;
  std::vector<std::byte> block_;  // burst_ frames
  std::int64_t burst_ = 1;
  std::size_t frame_bytes_ = 0;
  Instant begin_;
  Instant count_from_;
  Instant end_;
  std::int64_t sent_ = 0;
  std::int64_t answered_ = 0;
  std::int64_t counted_ = 0;
  bool sending_done_ = false;
  std::deque<Instant> departures_;  // of the unanswered requests
  Latencies latencies_;
  std::optional<Error> error_;
};

}  // namespace

Result<ProduceReport> run_produce_load(env::Environment& environment, const ProduceLoad& load) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::int64_t number = 0; number < load.connections; ++number) {
    streams.push_back(std::make_unique<Stream>(environment, load, number));
    if (const auto connected = streams.back()->connect(); !connected) {
      return std::unexpected(connected.error());
    }
  }
  const Instant begin = environment.clock.now();
  const Instant count_from = begin + load.warm_up;
  env::WaitGroup group(environment.scheduler);
  for (const auto& stream : streams) {
    stream->start(begin, count_from, count_from + load.duration, group);
  }
  std::ignore = group.wait(Deadline::never());

  ProduceReport report;
  report.elapsed = load.duration;
  for (const auto& stream : streams) {
    if (stream->error()) {
      return std::unexpected(*stream->error());
    }
    report.requests += stream->counted();
    report.latencies.merge(stream->latencies());
  }
  return report;
}

}  // namespace booblik::cli
