// The door to one broker: a thread of the library that does all input and output of the producers, consumers
// and connections that were opened with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <booblik/export.h>
#include <booblik/outcome.h>

namespace booblik {

namespace library {
struct ClientState;
}

// How producers and consumers come back when their connection broke.
struct ReconnectOptions {
  bool enabled = true;  // false: the first loss is the end of that producer or consumer
  // The first attempt comes at once; the pause before each later one doubles, and is spread at random.
  std::chrono::milliseconds pause_first{50};
  std::chrono::milliseconds pause_max{5'000};
  // Without an answer from the broker for so long it is the end.
  std::chrono::milliseconds give_up_after{60'000};
};

enum class ConnectionState {
  connected,     // again, after a loss
  reconnecting,  // waiting before the next attempt
  gave_up,       // for good
};

struct ConnectionEvent {
  ConnectionState state = ConnectionState::connected;
  std::uint64_t attempt = 0;           // of `reconnecting`: 1, 2, ... since the last answer
  std::chrono::milliseconds pause{0};  // of `reconnecting`: before the attempt
  Failure failure;                     // unless connected: what was lost, or why the last attempt failed
};

// Called on the library's thread: the rules of OnDelivery (producer.h) hold.
using OnConnection = std::function<void(const ConnectionEvent&)>;

struct ClientOptions {
  std::string broker = "127.0.0.1:9092";  // HOST:PORT, HOST, [IPV6]:PORT
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds request_timeout{30'000};  // for each answer
  ReconnectOptions reconnect;
};

struct PartitionInfo {
  std::int32_t partition = 0;
  std::int64_t start_offset = 0;  // the oldest record that is there
  std::int64_t end_offset = 0;    // the first offset that does not exist yet
};

struct TopicInfo {
  std::string name;
  std::vector<PartitionInfo> partitions;  // by number
};

// Cheap to copy: copies share the thread, which ends with the last copy and the last object that was opened
// with it. A program may have several clients, of one broker or of many. The library sets no signal handler,
// changes no signal's disposition (a broken connection raises no SIGPIPE), blocks all signals on its own
// threads, has no global state, and prints nothing. Its threads do not survive fork().
//
// Thread safety: all calls, from any thread.
class BOOBLIK_API Client {
 public:
  // Starts the thread; does not connect. Failures: invalid (the address or a time), no_resources.
  [[nodiscard]] static Outcome<Client> open(ClientOptions options);

  // The topics of the broker by name, or those named (an unknown name fails the whole call: `refused`).
  // Makes a connection for the call. Waits at most connect_timeout and request_timeout.
  // Failures: unreachable, lost, timed_out, bad_answer, refused, invalid.
  [[nodiscard]] Outcome<std::vector<TopicInfo>> topics(const std::vector<std::string>& names = {}) const;

 private:
  friend struct library::ClientState;
  explicit Client(std::shared_ptr<library::ClientState> state) : state_(std::move(state)) {}

  std::shared_ptr<library::ClientState> state_;
};

}  // namespace booblik
