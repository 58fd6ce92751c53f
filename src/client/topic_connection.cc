#include "client/topic_connection.h"

#include <utility>

#include "client/metadata.h"

namespace booblik::client {

Outcome<TopicConnection> connect_to_topic(const Roles& roles, const Address& broker, const std::string& topic,
                                          Duration connect_timeout, Duration request_timeout) {
  auto connection = Connection::open(roles.network, broker, Deadline(roles.clock.now() + connect_timeout));
  if (!connection) {
    return std::unexpected(std::move(connection.error()));
  }
  auto described = ask_topic(**connection, topic, Deadline(roles.clock.now() + request_timeout));
  if (!described) {
    return std::unexpected(std::move(described.error()));
  }
  return TopicConnection{std::move(*connection), std::move(*described)};
}

}  // namespace booblik::client
