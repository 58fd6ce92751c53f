#include "contract/streams.h"

#include <algorithm>
#include <span>
#include <utility>

#include "env/sync.h"

namespace booblik::env {

Pair connect_pair(Environment& env, const std::string& host) {
  Pair pair;
  auto listener = env.network.listen(host, 0);
  EXPECT_TRUE(listener) << listener.error().message;
  WaitGroup group(env.scheduler);
  group.add();
  env.scheduler.spawn("acceptor", [&] {
    auto accepted = (*listener)->accept(soon(env));
    EXPECT_TRUE(accepted) << accepted.error().message;
    pair.server = std::move(*accepted);
    group.done();
  });
  auto connected = env.network.connect(host, (*listener)->port(), soon(env));
  EXPECT_TRUE(connected) << connected.error().message;
  pair.client = std::move(*connected);
  EXPECT_TRUE(group.wait(soon(env)));
  return pair;
}

void send_all(Environment& env, Connection& connection, Bytes bytes) {
  while (!bytes.empty()) {
    const auto sent = connection.send(std::span(&bytes, 1), soon(env));
    ASSERT_TRUE(sent) << sent.error().message;
    ASSERT_GT(*sent, 0U);
    ASSERT_LE(*sent, bytes.size());
    bytes = bytes.subspan(*sent);
  }
}

void send_text(Environment& env, Connection& connection, std::string_view text) {
  send_all(env, connection, as_bytes(text));
}

std::string receive_text(Environment& env, Connection& connection, std::size_t length) {
  std::string text(length, '?');
  const auto buffer = std::as_writable_bytes(std::span(text));
  std::size_t filled = 0;
  while (filled < length) {
    const auto received = connection.receive(buffer.subspan(filled), soon(env));
    EXPECT_TRUE(received) << received.error().message;
    if (received.value_or(0) == 0) {
      break;
    }
    filled += *received;
  }
  text.resize(filled);
  return text;
}

std::vector<std::byte> pattern(std::size_t length) {
  std::vector<std::byte> bytes(length);
  std::uint32_t state = 12345;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return bytes;
}

void expect_pattern(Environment& env, Connection& connection, Bytes expected) {
  std::vector<std::byte> buffer(100'000);
  while (!expected.empty()) {
    const auto received = connection.receive(buffer, soon(env));
    ASSERT_TRUE(received) << received.error().message;
    ASSERT_GT(*received, 0U);
    ASSERT_LE(*received, expected.size());
    ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(*received),
                           buffer.begin()));
    expected = expected.subspan(*received);
  }
}

std::size_t send_until_stuck(Environment& env, Connection& connection, Bytes bytes) {
  std::size_t total = 0;
  for (;;) {
    const auto sent = connection.send(std::span(&bytes, 1), after(env, std::chrono::milliseconds(20)));
    if (!sent) {
      EXPECT_EQ(sent.error().code, ErrorCode::timed_out) << sent.error().message;
      return total;
    }
    total += *sent;
  }
}

}  // namespace booblik::env
