// Between the library's public types and those of the rooms below.
#pragma once

#include <chrono>
#include <string_view>

#include <booblik/client.h>
#include <booblik/outcome.h>

#include "base/bytes.h"
#include "base/result.h"
#include "client/address.h"
#include "client/failure.h"
#include "client/reconnect.h"
#include "library/reactor_thread.h"
#include "wire/response.h"

namespace booblik::library {

[[nodiscard]] Failure to_public(const client::Failure& failure);
[[nodiscard]] std::vector<TopicInfo> to_public(const std::vector<wire::TopicMetadata>& topics);

[[nodiscard]] Failure failure(FailureKind kind, std::string message);
// `callback` as the client calls it, but on the reactor's own stack. Empty when it is.
[[nodiscard]] client::OnConnection on_connection(ReactorThread& thread, OnConnection callback);
// A call that waits, made on the library's own thread.
[[nodiscard]] Failure called_from_callback(std::string_view what);

// Positive and not absurd: a year. `name` is for the message.
[[nodiscard]] Outcome<void> check_timeout(std::string_view name, std::chrono::milliseconds timeout);

struct ClientState {
  std::shared_ptr<ReactorThread> thread;
  client::Address broker;
  Duration connect_timeout;
  Duration request_timeout;
  client::ReconnectOptions reconnect;

  static const std::shared_ptr<ClientState>& of(const Client& client) { return client.state_; }
  static Client client(std::shared_ptr<ClientState> state) { return Client(std::move(state)); }
};

}  // namespace booblik::library
