// A connection and what the broker says about one topic: how every producer and consumer begins.
#pragma once

#include <memory>
#include <string>

#include "base/time.h"
#include "client/address.h"
#include "client/connection.h"
#include "client/failure.h"
#include "client/roles.h"
#include "wire/response.h"

namespace booblik::client {

struct TopicConnection {
  std::unique_ptr<Connection> connection;
  wire::TopicMetadata topic;  // at least one partition, numbered from 0 without holes
};

// Connects and asks for the topic. Failures: unreachable, lost, timed_out, bad_answer, refused (no such
// topic), invalid (no such name). Parks.
[[nodiscard]] Outcome<TopicConnection> connect_to_topic(const Roles& roles, const Address& broker,
                                                        const std::string& topic, Duration connect_timeout,
                                                        Duration request_timeout);

}  // namespace booblik::client
