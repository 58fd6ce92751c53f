// How a producer or a consumer comes back after its connection broke, and what it says about it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/time.h"
#include "client/failure.h"

namespace booblik::client {

struct ReconnectOptions {
  bool enabled = true;  // false: the first loss is the end
  // The first attempt comes at once. The pause before each later one doubles from `pause_first` up to
  // `pause_max`, and is drawn between half of that and all of it, so that many clients do not come together.
  Duration pause_first = std::chrono::milliseconds(50);
  Duration pause_max = std::chrono::seconds(5);
  // Without any progress for so long it is the end; Duration::max() never gives up. Progress is an answer to
  // a request, not a connection: a broker that only accepts is as good as none.
  Duration give_up_after = std::chrono::minutes(1);
};

enum class ConnectionState {
  connected,     // again, after a loss
  reconnecting,  // waiting before the next attempt
  gave_up,       // for good
};

[[nodiscard]] std::string_view name_of(ConnectionState state);

struct ConnectionEvent {
  ConnectionState state = ConnectionState::connected;
  std::uint64_t attempt = 0;         // of `reconnecting`: 1, 2, ... since the last progress
  Duration pause{0};                 // of `reconnecting`: before the attempt
  const Failure* failure = nullptr;  // unless connected: what was lost, or why the last attempt failed
};

// Called in the fibers of the client: it must neither park nor call the client.
using OnConnection = std::function<void(const ConnectionEvent&)>;

}  // namespace booblik::client
