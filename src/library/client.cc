#include <booblik/client.h>

#include <utility>

#include "client/metadata.h"
#include "library/translate.h"

namespace booblik {

using library::ClientState;

Outcome<Client> Client::open(ClientOptions options) {
  const auto broker = client::parse_address(options.broker);
  if (!broker) {
    return library::failure(FailureKind::invalid, broker.error().message);
  }
  if (auto valid = library::check_timeout("connect_timeout", options.connect_timeout); !valid) {
    return valid.error();
  }
  if (auto valid = library::check_timeout("request_timeout", options.request_timeout); !valid) {
    return valid.error();
  }
  const ReconnectOptions& reconnect = options.reconnect;
  for (const auto& [name, time] :
       {std::pair("pause_first", reconnect.pause_first), std::pair("pause_max", reconnect.pause_max),
        std::pair("give_up_after", reconnect.give_up_after)}) {
    if (auto valid = library::check_timeout(name, time); !valid) {
      return valid.error();
    }
  }
  auto thread = library::ReactorThread::start();
  if (!thread) {
    return library::failure(FailureKind::no_resources, thread.error().message);
  }
  return Client(std::make_shared<ClientState>(
      ClientState{std::move(*thread),
                  *broker,
                  options.connect_timeout,
                  options.request_timeout,
                  {reconnect.enabled, reconnect.pause_first, reconnect.pause_max, reconnect.give_up_after}}));
}

Outcome<std::vector<TopicInfo>> Client::topics(const std::vector<std::string>& names) const {
  library::ReactorThread& thread = *state_->thread;
  if (thread.is_current()) {
    return library::called_from_callback("topics");
  }
  return thread.call("topics", [&]() -> Outcome<std::vector<TopicInfo>> {
    const client::Roles roles = thread.roles();
    auto connection = client::Connection::open(roles.network, state_->broker,
                                               Deadline(roles.clock.now() + state_->connect_timeout));
    if (!connection) {
      return library::to_public(connection.error());
    }
    const std::vector<std::string_view> wanted(names.begin(), names.end());
    const auto topics =
        client::ask_metadata(**connection, wanted, Deadline(roles.clock.now() + state_->request_timeout));
    if (!topics) {
      return library::to_public(topics.error());
    }
    return library::to_public(*topics);
  });
}

}  // namespace booblik
