// Properties of the whole broker: what a FETCH serves of any log, and what recovery makes of any crash image
// of the simulated disk.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "log/record.h"
#include "sim/broker_life.h"
#include "sim/plan.h"
#include "sim/raw_client.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::sim {
namespace {

constexpr const char* kTopic = "topic0";
constexpr const char* kDirectory = "/data/topic0-0";
constexpr std::uint16_t kPort = 9092;

// One broker of one partition, a client beside it, and lives one after the other.
class BrokerWorld {
 public:
  BrokerWorld(const Plan& plan, std::uint64_t seed)
      : plan_(plan),
        world_(stacks_, {.seed = seed, .scheduler = plan.scheduler(), .network = plan.network()}),
        machine_(world_.add_machine("machine", plan.disk(), plan.clock())),
        client_(world_.outside_environment(), kPort) {}
  ~BrokerWorld() { world_.shut_down(); }

  // Runs `body` in a fiber outside of the machine. RapidCheck tells of a failure by an exception, which must
  // not leave a fiber.
  void run(const std::function<void()>& body) {
    std::exception_ptr failure;
    world_.spawn("test", [this, &body, &failure] {
      try {
        body();
      } catch (...) {
        failure = std::current_exception();
      }
      world_.scheduler().stop();
    });
    const auto stop = world_.run(Instant(std::chrono::hours(1)), 2'000'000);
    if (failure) {
      std::rethrow_exception(failure);
    }
    RC_ASSERT(stop == SimScheduler::Stop::stopped);
  }

  void start() {
    lives_.push_back(std::make_unique<BrokerLife>());
    lives_.back()->options = plan_.broker();
    lives_.back()->on_opened = [] {};
    start_broker(world_, machine_, *lives_.back());
    for (int step = 0; step < 10'000 && !lives_.back()->opened; ++step) {
      sleep(Duration(1'000'000));
    }
    RC_ASSERT(lives_.back()->opened);
    RC_ASSERT(client_.connect(soon()).has_value());
  }
  void stop() {
    client_.close();
    request_stop(world_, *lives_.back());
    RC_ASSERT(world_.wait(lives_.back()->process, soon()) == ProcessEnd::finished);
    RC_ASSERT(lives_.back()->ran_to_its_end);
  }
  void kill() {
    client_.close();
    world_.kill(lives_.back()->process);
  }
  void lose_power() {
    client_.close();
    world_.lose_power(machine_);
  }

  void sleep(Duration duration) { world_.scheduler().sleep(duration, "test"); }

  void produce(const std::vector<std::vector<std::byte>>& payloads, wire::AckPolicy acks) {
    const std::vector<Bytes> views(payloads.begin(), payloads.end());
    std::vector<std::byte> bytes;
    wire::encode_produce(bytes, 1, kTopic, PartitionId(0), acks, views);
    RC_ASSERT(client_.send(bytes, soon()).has_value());
    const auto frame = client_.receive_frame(soon());
    RC_ASSERT(frame.has_value());
    RC_ASSERT(wire::decode_produce_response(*frame).has_value());
  }

  struct Fetched {
    wire::WireError error = wire::WireError::none;
    std::int64_t high_watermark = 0;
    std::vector<std::byte> payload;
  };
  Fetched fetch(std::int64_t offset, std::int32_t max_bytes, std::int64_t wait_millis,
                std::int32_t min_bytes) {
    const auto answer = exchange_fetch(offset, max_bytes, wait_millis, min_bytes);
    RC_ASSERT(answer.has_value());
    return *answer;
  }
  // Nothing when the broker closes the connection instead; there is a new one then.
  std::optional<Fetched> try_fetch(std::int64_t offset, std::int32_t max_bytes) {
    auto answer = exchange_fetch(offset, max_bytes, 0, 0);
    if (!answer) {
      client_.close();
      RC_ASSERT(client_.connect(soon()).has_value());
    }
    return answer;
  }
  [[nodiscard]] std::int64_t recovered_end() const { return lives_.back()->recovered.front().end; }

  // What is on the disk, as programs see it.
  std::map<std::string, PagedBytes> files() { return machine_.disk.files().snapshot(kDirectory); }
  Machine& machine() { return machine_; }

 private:
  std::optional<Fetched> exchange_fetch(std::int64_t offset, std::int32_t max_bytes, std::int64_t wait_millis,
                                        std::int32_t min_bytes) {
    std::vector<std::byte> bytes;
    wire::encode_fetch(bytes, 2, kTopic, PartitionId(0), Offset(offset), max_bytes,
                       std::chrono::milliseconds(wait_millis), min_bytes);
    RC_ASSERT(client_.send(bytes, soon()).has_value());
    const auto frame = client_.receive_frame(soon());
    if (!frame) {
      return std::nullopt;
    }
    const auto header = wire::decode_response_header(*frame);
    RC_ASSERT(header.has_value());
    if (header->error != wire::WireError::none) {
      return Fetched{.error = header->error, .high_watermark = 0, .payload = {}};
    }
    const auto answer = wire::decode_fetch_response(*frame);
    RC_ASSERT(answer.has_value());
    return Fetched{.error = wire::WireError::none,
                   .high_watermark = answer->high_watermark.value(),
                   .payload = {answer->payload.begin(), answer->payload.end()}};
  }

  [[nodiscard]] Deadline soon() const { return Deadline(world_.now() + std::chrono::minutes(2)); }

  Plan plan_;
  env::StackPool stacks_{env::StackPool::Options{}};
  World world_;
  Machine& machine_;
  RawClient client_;
  std::vector<std::unique_ptr<BrokerLife>> lives_;
};

Plan plan_of(std::int64_t segment_bytes, std::int64_t index_bytes) {
  Plan plan;
  plan.segment_bytes = segment_bytes;
  plan.index_bytes = index_bytes;
  plan.flush_millis = 0;
  return plan;
}

std::vector<std::byte> payload_of(std::int64_t number, std::size_t size) {
  std::vector<std::byte> payload(size);
  for (std::size_t index = 0; index < size; ++index) {
    payload[index] = static_cast<std::byte>((static_cast<std::size_t>(number) * 37 + index) & 0xFFU);
  }
  return payload;
}

// The bytes of each record as they have to be stored.
std::vector<std::byte> stored(const std::vector<std::byte>& payload) {
  std::vector<std::byte> bytes(8);
  store_big_endian(bytes.data(), static_cast<std::int32_t>(payload.size()));
  store_big_endian(bytes.data() + 4, crc32c(payload));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

// A log as the contract says it has to be: whole records, a new segment when one does not fit.
struct ExpectedLog {
  struct Record {
    std::size_t segment = 0;
    std::size_t position = 0;
  };
  std::vector<Record> records;
  std::vector<std::vector<std::byte>> segments{{}};

  void append(const std::vector<std::byte>& payload, std::int64_t segment_bytes) {
    const std::vector<std::byte> bytes = stored(payload);
    if (!segments.back().empty() &&
        segments.back().size() + bytes.size() > static_cast<std::size_t>(segment_bytes)) {
      segments.emplace_back();
    }
    records.push_back({segments.size() - 1, segments.back().size()});
    segments.back().insert(segments.back().end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> served(std::size_t offset, std::int64_t max_bytes) const {
    const Record& record = records[offset];
    const auto begin = segments[record.segment].begin() + static_cast<std::ptrdiff_t>(record.position);
    const auto length = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(max_bytes),
                                                 segments[record.segment].end() - begin);
    return {begin, begin + length};
  }
};

struct Ask {
  std::uint32_t offset = 0;
  std::uint32_t max_bytes = 0;
  std::uint32_t min_bytes = 0;
  bool waits = false;
};

void check_fetches(BrokerWorld& world, const ExpectedLog& log, const std::vector<Ask>& asks) {
  const auto end = static_cast<std::int64_t>(log.records.size());
  for (const Ask& ask : asks) {
    const std::int64_t offset = ask.offset % (end + 2);
    const auto max_bytes =
        static_cast<std::int32_t>(1 + ask.max_bytes % (ask.max_bytes % 3 == 0 ? 20 : 3000));
    const auto min_bytes =
        static_cast<std::int32_t>(ask.min_bytes % static_cast<std::uint32_t>(max_bytes + 1));
    const auto got = world.fetch(offset, max_bytes, ask.waits ? 5 : 0, ask.waits ? min_bytes : 0);
    if (offset > end) {
      RC_ASSERT(got.error == wire::WireError::offset_out_of_range);
      continue;
    }
    RC_ASSERT(got.error == wire::WireError::none);
    RC_ASSERT(got.high_watermark == end);
    const auto expected =
        offset == end ? std::vector<std::byte>() : log.served(static_cast<std::size_t>(offset), max_bytes);
    RC_ASSERT(got.payload == expected);
    RC_ASSERT(got.payload.empty() == (offset == end));
  }
}

rc::Gen<std::vector<Ask>> any_asks() {
  return rc::gen::container<std::vector<Ask>>(rc::gen::map(
      rc::gen::tuple(rc::gen::arbitrary<std::uint32_t>(), rc::gen::arbitrary<std::uint32_t>(),
                     rc::gen::arbitrary<std::uint32_t>(), rc::gen::arbitrary<bool>()),
      [](const std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>& drawn) {
        return Ask{std::get<0>(drawn), std::get<1>(drawn), std::get<2>(drawn), std::get<3>(drawn)};
      }));
}

RC_GTEST_PROP(Fetch, ServesTheStoredBytesCutByTheRules, ()) {
  const auto segment_bytes = *rc::gen::inRange<std::int64_t>(300, 3000);
  const auto index_bytes = *rc::gen::inRange<std::int64_t>(1, 2000);
  const auto batches = *rc::gen::container<std::vector<std::vector<std::uint32_t>>>(
      rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(1, 290)));
  const auto asks = *any_asks();
  const auto forced = *rc::gen::arbitrary<bool>();
  BrokerWorld world(plan_of(segment_bytes, index_bytes), *rc::gen::arbitrary<std::uint32_t>());
  world.run([&] {
    world.start();
    ExpectedLog log;
    for (const auto& sizes : batches) {
      std::vector<std::vector<std::byte>> payloads;
      for (const std::uint32_t size : sizes) {
        payloads.push_back(payload_of(static_cast<std::int64_t>(log.records.size()), size));
        log.append(payloads.back(), segment_bytes);
      }
      if (!payloads.empty()) {
        world.produce(payloads, forced ? wire::AckPolicy::forced : wire::AckPolicy::written);
      }
    }
    check_fetches(world, log, asks);
    // Nor does a restart change a byte, whichever index interval comes after it.
    world.stop();
    world.start();
    check_fetches(world, log, asks);
    world.stop();
  });
}

// A record that was written, and whether it has been vouched for: by a FORCED answer, or by a recovery that
// found it.
struct Written {
  std::vector<std::byte> bytes;
  bool sure = false;
};

// Every record is served as it was written, or, if nobody had vouched for it, is lost for good.
void check_log(BrokerWorld& world, std::vector<Written>& log) {
  for (std::size_t offset = 0; offset < log.size(); ++offset) {
    const auto got = world.try_fetch(static_cast<std::int64_t>(offset),
                                     static_cast<std::int32_t>(log[offset].bytes.size()));
    RC_ASSERT(got.has_value() || !log[offset].sure);
    if (got) {
      RC_ASSERT(got->payload == log[offset].bytes);
      log[offset].sure = true;
    }
  }
}

// Appends, power losses, and what is un-synced then in every state: recovery makes a dense log of it that
// holds all that was vouched for, and a second recovery changes nothing.
RC_GTEST_PROP(Recovery, OfACrashImageKeepsWhatWasVouchedForAndIsIdempotent, ()) {
  const auto segment_bytes = *rc::gen::inRange<std::int64_t>(300, 2000);
  const auto sizes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(1, 290)));
  const auto crashes = *rc::gen::inRange(1, 4);
  const auto kind = *rc::gen::inRange<std::uint64_t>(0, kPowerLossKinds + 1);
  const auto forced = *rc::gen::inRange<std::size_t>(0, 20);
  BrokerWorld world(plan_of(segment_bytes, 64), *rc::gen::arbitrary<std::uint32_t>());
  if (kind < kPowerLossKinds) {
    DiskOptions options = world.machine().disk.options();
    options.power_loss = static_cast<PowerLoss>(kind);
    world.machine().disk.set_faults(options);
  }
  world.run([&] {
    std::int64_t number = 0;
    std::vector<Written> log;
    for (int crash = 0; crash < crashes; ++crash) {
      world.start();
      for (std::size_t index = 0; index < sizes.size(); ++index) {
        const auto payload = payload_of(++number, sizes[index]);
        world.produce({payload}, index < forced ? wire::AckPolicy::forced : wire::AckPolicy::written);
        log.push_back({stored(payload), false});
      }
      const std::size_t known = log.size() - sizes.size() + std::min(forced, sizes.size());
      std::for_each(log.begin() + static_cast<std::ptrdiff_t>(log.size() - sizes.size()),
                    log.begin() + static_cast<std::ptrdiff_t>(known),
                    [](Written& each) { each.sure = true; });
      world.lose_power();
      world.start();
      const auto end = static_cast<std::size_t>(world.recovered_end());
      RC_ASSERT(end >= (forced > 0 ? known : log.size() - sizes.size()));
      RC_ASSERT(end <= log.size());
      log.resize(end);
      world.kill();
      const auto once = world.files();
      world.start();
      world.kill();
      RC_ASSERT(world.files() == once);
      world.start();
      RC_ASSERT(static_cast<std::size_t>(world.recovered_end()) == end);
      check_log(world, log);
      world.kill();
    }
  });
}

}  // namespace
}  // namespace booblik::sim
