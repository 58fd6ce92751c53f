// Connected pairs, and bytes through them, for the contract tests of the network.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"

namespace booblik::env {

struct Pair {
  std::unique_ptr<Connection> client;
  std::unique_ptr<Connection> server;
};

Pair connect_pair(Environment& env, const std::string& host);

void send_all(Environment& env, Connection& connection, Bytes bytes);

void send_text(Environment& env, Connection& connection, std::string_view text);

// Until `length` bytes or the end.
std::string receive_text(Environment& env, Connection& connection, std::size_t length);

// Bytes that differ from their neighbours and from those one buffer or page away.
std::vector<std::byte> pattern(std::size_t length);

// Receives expected.size() bytes and compares them.
void expect_pattern(Environment& env, Connection& connection, Bytes expected);

// Sends until the connection takes no more before its deadline; the number of bytes that went.
std::size_t send_until_stuck(Environment& env, Connection& connection, Bytes bytes);

}  // namespace booblik::env
