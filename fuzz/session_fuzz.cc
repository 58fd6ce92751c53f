// A whole broker in the simulated world, and a client that sends the input: two bytes choose the world, the
// rest is the stream. Every answer has to be the contract's, in order; the stream ends in a close after the
// last of them; what is stored afterwards is what was sent, whole batches only; another client is served all
// the while; nothing hangs, and nothing leaks.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "env/sync.h"
#include "frame_mutator.h"
#include "session_model.h"
#include "sim/broker_life.h"
#include "sim/raw_client.h"
#include "sim/world.h"
#include "wire/request_encoder.h"

namespace booblik::fuzz {
namespace {

using std::chrono::seconds;

constexpr std::uint16_t kPort = 9092;
constexpr std::uint64_t kTurnsMax = 1'000'000;

std::map<std::string, std::int32_t> topics() {
  return {{"t", 2}, {"я", 1}, {kCompanionTopic, 1}};
}

struct Choices {
  explicit Choices(std::uint8_t flags, std::uint8_t numbers)
      : reset((flags & 1U) != 0),
        kill((flags & 2U) != 0),
        tight((flags & 4U) != 0),
        cut((flags & 8U) != 0),
        companion((flags & 16U) != 0),
        policy(static_cast<sim::Policy>((flags >> 5U) & 3U)),
        seed(numbers) {}

  bool reset;      // the client resets instead of waiting for its answers
  bool kill;       // the broker is killed after the last answer instead of being stopped
  bool tight;      // limits of one
  bool cut;        // the network cuts everything into small pieces
  bool companion;  // another client works beside
  sim::Policy policy;
  std::uint64_t seed;
};

class Session {
 public:
  Session(env::StackPool& stacks, const Choices& choices, Bytes stream)
      : choices_(choices),
        stream_(stream),
        model_(topics()),
        world_(stacks, {.seed = choices.seed, .scheduler = {.policy = choices.policy}, .network = network()}),
        machine_(world_.add_machine("machine", sim::DiskOptions{}, sim::ClockOptions{})) {
    model_.take(stream);
  }
  ~Session() { world_.shut_down(); }

  void run() {
    if (model_.touches_companion()) {
      return;  // then nobody knows what its answers have to be
    }
    world_.spawn("driver", [this] {
      first_life();
      second_life();
      finished_ = true;
      world_.scheduler().stop();
    });
    const auto stop = world_.run(Instant(std::chrono::hours(24)), kTurnsMax);
    BOOBLIK_CHECK(stop == sim::SimScheduler::Stop::stopped && finished_, "nothing hangs");
  }

 private:
  [[nodiscard]] sim::NetworkOptions network() const {
    sim::NetworkOptions options;
    if (choices_.cut) {
      options.short_send_odds = options.short_receive_odds = options.one_byte_odds = options.split_odds = 3;
      options.buffer_bytes = 64;
    }
    return options;
  }

  [[nodiscard]] broker::Options options() const {
    broker::Options options;
    options.port = kPort;
    options.data_directory = "data";
    options.topics = topics();
    options.segment_capacity_bytes = kCapacity;
    options.index_interval_bytes = 64;
    options.metrics_every = std::chrono::milliseconds(0);
    options.request_memory_bytes_max = 1 << 20;
    if (choices_.tight) {
      options.pipelined_requests_max = options.held_fetches_max = options.open_segment_files_max = 1;
      options.index_cache_bytes_max = 65'536;
    }
    return options;
  }

  void start(sim::BrokerLife& life) {
    life.options = options();
    env::Event opened(world_.outside_environment().scheduler);
    life.on_opened = [&opened] { opened.notify_all(); };
    sim::start_broker(world_, machine_, life);
    while (!life.opened) {
      BOOBLIK_CHECK(opened.wait(soon()) == env::Wake::unparked, "the broker starts");
    }
    life.on_opened = [] {};
  }

  void stop(sim::BrokerLife& life) {
    sim::request_stop(world_, life);
    BOOBLIK_CHECK(world_.wait(life.process, soon()) == sim::ProcessEnd::finished, "the broker stops");
    BOOBLIK_CHECK(life.ran_to_its_end, "the broker stops in good order");
    BOOBLIK_CHECK(world_.leaks(life.process).none(), "the broker leaks nothing");
  }

  [[nodiscard]] Deadline soon() const { return Deadline(world_.now() + seconds(600)); }

  void first_life() {
    sim::BrokerLife life;
    start(life);
    env::WaitGroup companion(world_.outside_environment().scheduler);
    if (choices_.companion) {
      companion.add();
      world_.spawn("companion", [&] {
        work_beside();
        companion.done();
      });
    }
    talk();
    BOOBLIK_CHECK(companion.wait(soon()), "another client is served");
    if (choices_.kill) {
      world_.kill(life.process);
    } else {
      stop(life);
    }
  }

  void talk() {
    sim::RawClient client(world_.outside_environment(), kPort);
    BOOBLIK_CHECK(client.connect(soon()).has_value(), "the broker can be reached");
    env::WaitGroup sender(world_.outside_environment().scheduler);
    sender.add();
    world_.spawn("sender", [&] {
      // The broker closes without reading on when a length is impossible, so this may fail.
      if (client.send(stream_, soon()) && !choices_.reset) {
        client.shutdown_send();
      }
      sender.done();
    });
    if (!choices_.reset) {
      take_answers(client);
    }
    BOOBLIK_CHECK(sender.wait(soon()), "the broker takes what is sent, or closes");
    if (choices_.reset) {
      client.abort();
    }
  }

  void take_answers(sim::RawClient& client) {
    for (const Expected& expected : model_.answers()) {
      const auto frame = client.receive_frame(soon());
      BOOBLIK_CHECK(frame.has_value(), "every request is answered before the connection ends");
      const auto header = wire::decode_response_header(*frame);
      BOOBLIK_CHECK(header && header->correlation_id == expected.correlation_id,
                    "answers come in the order of the requests");
      if (const auto* metadata = std::get_if<MetadataExpected>(&expected.what)) {
        check_answer(*frame, *metadata, model_.partitions());
      } else if (const auto* produce = std::get_if<ProduceExpected>(&expected.what)) {
        check_answer(*frame, *produce);
      } else if (const auto* fetch = std::get_if<FetchExpected>(&expected.what)) {
        check_answer(*frame, *fetch);
      } else {
        check_answer(*frame, std::get<ErrorExpected>(expected.what));
      }
    }
    const auto end = client.receive_frame(soon());
    BOOBLIK_CHECK(!end && (end.error().code == ErrorCode::closed || end.error().code == ErrorCode::reset),
                  "nothing comes that was not asked for");
  }

  // One FORCED record after another, each read back.
  void work_beside() {
    sim::RawClient client(world_.outside_environment(), kPort);
    BOOBLIK_CHECK(client.connect(soon()).has_value(), "another client can connect");
    for (std::int32_t round = 0; round < 3; ++round) {
      const std::byte text{static_cast<unsigned char>('a' + round)};
      const Bytes payload(&text, 1);
      std::vector<std::byte> bytes;
      wire::encode_produce(bytes, 2 * round, kCompanionTopic, PartitionId(0), wire::AckPolicy::forced,
                           {&payload, 1});
      wire::encode_fetch(bytes, 2 * round + 1, kCompanionTopic, PartitionId(0), Offset(round), 100,
                         std::chrono::milliseconds(0), 0);
      BOOBLIK_CHECK(client.send(bytes, soon()).has_value(), "another client can send");
      const auto produced = client.receive_frame(soon());
      BOOBLIK_CHECK(produced && wire::decode_produce_response(*produced)->base_offset == Offset(round),
                    "another client can produce");
      const auto fetched = client.receive_frame(soon());
      BOOBLIK_CHECK(fetched && wire::decode_fetch_response(*fetched)->payload.back() == text,
                    "another client can fetch");
    }
  }

  // What is stored, by the answers of a broker that starts from it.
  void second_life() {
    sim::BrokerLife life;
    start(life);
    sim::RawClient client(world_.outside_environment(), kPort);
    BOOBLIK_CHECK(client.connect(soon()).has_value(), "the broker can be reached again");
    for (const auto& [name, expected] : model_.partitions()) {
      check_stored(client, name, expected);
    }
    client.close();
    stop(life);
  }

  void check_stored(sim::RawClient& client, const PartitionName& name, const PartitionModel& expected) {
    std::vector<std::byte> stored;
    std::int64_t next = 0;
    std::int64_t end = 1;
    while (next < end) {
      std::vector<std::byte> request;
      wire::encode_fetch(request, 1, name.first, PartitionId(name.second), Offset(next), 1 << 20,
                         std::chrono::milliseconds(0), 0);
      BOOBLIK_CHECK(client.send(request, soon()).has_value(), "a FETCH can be sent");
      const auto frame = client.receive_frame(soon());
      BOOBLIK_CHECK(frame.has_value(), "a FETCH is answered");
      const auto answer = wire::decode_fetch_response(*frame);
      BOOBLIK_CHECK(answer.has_value(), "what is stored can be read");
      end = answer->high_watermark.value();
      BOOBLIK_CHECK(end <= expected.count(), "nothing is stored that was not sent");
      stored.insert(stored.end(), answer->payload.begin(), answer->payload.end());
      BOOBLIK_CHECK(stored.size() <= expected.bytes.size() && next <= end, "not more than was sent");
      while (next < end && expected.ends[static_cast<std::size_t>(next)] <= stored.size()) {
        ++next;
      }
      BOOBLIK_CHECK(stored.size() == expected.start_of(next), "segments end with whole records");
    }
    BOOBLIK_CHECK(std::ranges::equal(stored, Bytes(expected.bytes).first(stored.size())),
                  "what was sent is stored, in order");
    // Behind a reset the broker may not have read to the end. A batch that was taken is there as a whole.
    BOOBLIK_CHECK(choices_.reset || end == expected.count() || (choices_.kill && end >= acked(expected)),
                  "everything that was acknowledged is stored");
    BOOBLIK_CHECK(
        choices_.kill || std::ranges::binary_search(expected.batch_ends, static_cast<std::size_t>(end)),
        "no batch is stored in part");
  }

  // Records of the partition that were acknowledged, when every answer was received.
  [[nodiscard]] std::int64_t acked(const PartitionModel& partition) const {
    std::int64_t end = 0;
    for (const Expected& expected : model_.answers()) {
      const auto* produce = std::get_if<ProduceExpected>(&expected.what);
      if (produce != nullptr && produce->partition == &partition) {
        end = std::max(end, produce->base + produce->records);
      }
    }
    return end;
  }

  Choices choices_;
  Bytes stream_;
  SessionModel model_;
  sim::World world_;
  sim::Machine& machine_;
  bool finished_ = false;
};

}  // namespace
}  // namespace booblik::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned int seed) {
  return booblik::fuzz::mutate_requests(data, size, max_size, seed, 2);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  static env::StackPool stacks{env::StackPool::Options{}};
  if (size < 2) {
    return 0;
  }
  const fuzz::Choices choices(data[0], data[1]);
  fuzz::Session(stacks, choices, std::as_bytes(std::span(data + 2, size - 2))).run();
  return 0;
}
