#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "contract/contract.h"
#include "env/sync.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Pair {
  std::unique_ptr<Connection> client;
  std::unique_ptr<Connection> server;
};

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

// Until `length` bytes or the end.
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

// Bytes that differ from their neighbours and from those one buffer or page away.
std::vector<std::byte> pattern(std::size_t length) {
  std::vector<std::byte> bytes(length);
  std::uint32_t state = 12345;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return bytes;
}

// Receives `length` bytes and compares them with the pattern from its start.
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

// Sends until the connection takes no more before its deadline; the number of bytes that went.
std::size_t send_until_stuck(Environment& env, Connection& connection, Bytes bytes) {
  std::size_t total = 0;
  for (;;) {
    const auto sent = connection.send(std::span(&bytes, 1), after(env, milliseconds(20)));
    if (!sent) {
      EXPECT_EQ(sent.error().code, ErrorCode::timed_out) << sent.error().message;
      return total;
    }
    total += *sent;
  }
}

TEST_P(NetworkContract, BytesGoBothWays) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    send_text(env, *pair.client, "ping");
    EXPECT_EQ(receive_text(env, *pair.server, 4), "ping");
    send_text(env, *pair.server, "pong");
    EXPECT_EQ(receive_text(env, *pair.client, 4), "pong");
    EXPECT_FALSE(pair.client->peer().empty());
    EXPECT_FALSE(pair.server->peer().empty());
  });
}

TEST_P(NetworkContract, AGatherSendKeepsTheOrderOfItsParts) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    std::vector<std::string> texts;
    std::string expected;
    for (int index = 0; index < 200; ++index) {
      texts.push_back(index % 5 == 0 ? "" : std::to_string(index) + ";");
      expected += texts.back();
    }
    std::vector<Bytes> parts;
    std::transform(texts.begin(), texts.end(), std::back_inserter(parts),
                   [](const std::string& text) { return as_bytes(text); });
    std::span<Bytes> left(parts);
    while (!left.empty()) {
      if (left.front().empty()) {
        left = left.subspan(1);
        continue;
      }
      const auto sent = pair.client->send(left, soon(env));
      ASSERT_TRUE(sent);
      for (std::size_t gone = *sent; gone > 0;) {
        const std::size_t step = std::min(gone, left.front().size());
        left.front() = left.front().subspan(step);
        gone -= step;
        if (left.front().empty()) {
          left = left.subspan(1);
        }
      }
    }
    EXPECT_EQ(receive_text(env, *pair.server, expected.size()), expected);
  });
}

TEST_P(NetworkContract, AHalfClosedPeerStillGetsItsAnswers) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    bool reset = false;
    pair.server->on_reset([&] { reset = true; });
    send_text(env, *pair.client, "last words");
    pair.client->shutdown_send();
    EXPECT_EQ(receive_text(env, *pair.server, 100), "last words");
    EXPECT_TRUE(pair.server->wait_readable(soon(env))) << "the end is readable";
    EXPECT_EQ(receive_text(env, *pair.server, 1), "") << "and stays the end";
    EXPECT_EQ(env.scheduler.park(after(env, milliseconds(10))), Wake::deadline);
    EXPECT_FALSE(reset) << "a half-close is not a reset";
    send_text(env, *pair.server, "answer");
    pair.server->shutdown_send();
    EXPECT_EQ(receive_text(env, *pair.client, 100), "answer");
    EXPECT_EQ(env.scheduler.park(after(env, milliseconds(10))), Wake::deadline);
    EXPECT_FALSE(reset) << "nor is the good end of both directions";
  });
}

TEST_P(NetworkContract, TheEndIsSeenEvenWhenItArrivesWithTheLastBytes) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    send_text(env, *pair.client, "abc");
    pair.client->shutdown_send();
    // Everything has arrived before the first receive looks.
    EXPECT_EQ(env.scheduler.park(after(env, milliseconds(10))), Wake::deadline);
    std::array<std::byte, 64> buffer;
    std::size_t total = 0;
    for (;;) {
      const auto received = pair.server->receive(buffer, soon(env));
      ASSERT_TRUE(received);
      if (*received == 0) {
        break;
      }
      total += *received;
    }
    EXPECT_EQ(total, 3U);
  });
}

TEST_P(NetworkContract, AResetIsNoticedWhileNobodyReceives) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    Event noticed(env.scheduler);
    int calls = 0;
    pair.server->on_reset([&] {
      ++calls;
      noticed.notify_all();
    });
    pair.client->abort();
    while (calls == 0) {
      ASSERT_EQ(noticed.wait(soon(env)), Wake::unparked);
    }
    const Bytes part = as_bytes("x");
    EXPECT_EQ(pair.server->send(std::span(&part, 1), soon(env)).error().code, ErrorCode::reset);
    std::array<std::byte, 8> buffer;
    EXPECT_EQ(pair.server->receive(buffer, soon(env)).error().code, ErrorCode::reset);
    EXPECT_EQ(calls, 1);
    bool at_once = false;
    pair.server->on_reset([&] { at_once = true; });
    EXPECT_TRUE(at_once) << "it has happened already";
  });
}

TEST_P(NetworkContract, AForgottenResetCallbackIsNotCalled) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    bool called = false;
    pair.server->on_reset([&] { called = true; });
    pair.server->on_reset({});
    pair.client->abort();
    std::array<std::byte, 8> buffer;
    EXPECT_EQ(pair.server->receive(buffer, soon(env)).error().code, ErrorCode::reset);
    EXPECT_FALSE(called);
  });
}

TEST_P(NetworkContract, AResetEndsAWaitingReceiveAndAWaitingSend) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("receiver", [&] {
      std::array<std::byte, 8> buffer;
      EXPECT_EQ(pair.server->receive(buffer, soon(env)).error().code, ErrorCode::reset);
      group.done();
    });
    group.add();
    env.scheduler.spawn("sender", [&] {
      const std::vector<std::byte> bytes(1'000'000);
      const Bytes part(bytes);
      for (;;) {
        const auto sent = pair.server->send(std::span(&part, 1), soon(env));
        if (!sent) {
          EXPECT_EQ(sent.error().code, ErrorCode::reset);
          break;
        }
      }
      group.done();
    });
    EXPECT_EQ(env.scheduler.park(after(env, milliseconds(10))), Wake::deadline);
    pair.client->abort();
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(NetworkContract, AbortWakesOurOwnWaiters) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("receiver", [&] {
      std::array<std::byte, 8> buffer;
      EXPECT_EQ(pair.server->receive(buffer, soon(env)).error().code, ErrorCode::reset);
      group.done();
    });
    group.add();
    env.scheduler.spawn("waiter", [&] {
      EXPECT_EQ(pair.client->wait_readable(soon(env)).error().code, ErrorCode::reset);
      group.done();
    });
    env.scheduler.yield();
    pair.server->abort();
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_EQ(pair.server->wait_readable(soon(env)).error().code, ErrorCode::reset);
    const Bytes part = as_bytes("x");
    EXPECT_EQ(pair.server->send(std::span(&part, 1), soon(env)).error().code, ErrorCode::reset);
    pair.server->abort();
    pair.server->shutdown_send();
  });
}

TEST_P(NetworkContract, EveryWaitEndsAtItsDeadline) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    std::array<std::byte, 8> buffer;
    Deadline deadline = after(env, milliseconds(5));
    EXPECT_EQ(pair.server->receive(buffer, deadline).error().code, ErrorCode::timed_out);
    EXPECT_TRUE(deadline.passed(env.clock.now()));
    deadline = after(env, milliseconds(5));
    EXPECT_EQ(pair.server->wait_readable(deadline).error().code, ErrorCode::timed_out);
    EXPECT_TRUE(deadline.passed(env.clock.now()));
    EXPECT_EQ(pair.server->receive(buffer, Deadline::immediately()).error().code, ErrorCode::timed_out);
    auto listener = env.network.listen(world_->host(), 0);
    ASSERT_TRUE(listener);
    EXPECT_EQ((*listener)->accept(after(env, milliseconds(5))).error().code, ErrorCode::timed_out);
    // A deadline breaks nothing.
    send_text(env, *pair.client, "still there");
    EXPECT_EQ(receive_text(env, *pair.server, 11), "still there");
  });
}

TEST_P(NetworkContract, WaitReadableLeavesTheBytesForReceive) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    send_text(env, *pair.client, "abcdef");
    EXPECT_TRUE(pair.server->wait_readable(soon(env)));
    EXPECT_EQ(receive_text(env, *pair.server, 3), "abc");
    EXPECT_TRUE(pair.server->wait_readable(soon(env)));
    EXPECT_EQ(receive_text(env, *pair.server, 3), "def");
    EXPECT_EQ(pair.server->wait_readable(after(env, milliseconds(5))).error().code, ErrorCode::timed_out);
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("waiter", [&] {
      EXPECT_TRUE(pair.server->wait_readable(soon(env)));
      EXPECT_EQ(receive_text(env, *pair.server, 1), "g");
      group.done();
    });
    env.scheduler.yield();
    send_text(env, *pair.client, "g");
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(NetworkContract, StopReceivingEndsAReaderAndLeavesSendingAlone) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("reader", [&] {
      std::array<std::byte, 8> buffer;
      EXPECT_EQ(pair.server->receive(buffer, soon(env)), 0U);
      group.done();
    });
    env.scheduler.yield();
    pair.server->stop_receiving();
    EXPECT_TRUE(group.wait(soon(env)));
    send_text(env, *pair.client, "unwanted");
    EXPECT_TRUE(pair.server->wait_readable(soon(env)));
    std::array<std::byte, 8> buffer;
    EXPECT_EQ(pair.server->receive(buffer, soon(env)), 0U);
    send_text(env, *pair.server, "answer");
    EXPECT_EQ(receive_text(env, *pair.client, 6), "answer");
  });
}

TEST_P(NetworkContract, AStalledReaderStopsTheSenderAndLosesNothing) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    const std::vector<std::byte> block(64 * 1024, std::byte{7});
    const std::size_t sent = send_until_stuck(env, *pair.client, block);
    EXPECT_GT(sent, 0U);
    pair.client->shutdown_send();
    std::vector<std::byte> buffer(50'000);
    std::size_t total = 0;
    for (;;) {
      const auto received = pair.server->receive(buffer, soon(env));
      ASSERT_TRUE(received);
      if (*received == 0) {
        break;
      }
      total += *received;
    }
    EXPECT_EQ(total, sent);
  });
}

TEST_P(NetworkContract, BigTransfersBothWaysAtOnce) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    const auto bytes = pattern(5'000'011);
    WaitGroup group(env.scheduler);
    for (Connection* connection : {pair.client.get(), pair.server.get()}) {
      group.add();
      env.scheduler.spawn("sender", [&, connection] {
        send_all(env, *connection, bytes);
        group.done();
      });
      group.add();
      env.scheduler.spawn("receiver", [&, connection] {
        expect_pattern(env, *connection, bytes);
        group.done();
      });
    }
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(NetworkContract, SendFileSendsExactlyTheRange) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    const auto bytes = pattern(3 * 1024 * 1024 + 4321);
    auto file = env.disk.open(path("segment"), OpenMode::create_new);
    ASSERT_TRUE(file);
    const Bytes whole(bytes);
    ASSERT_TRUE((*file)->write_at(std::span(&whole, 1), Position(0)));
    struct Range {
      std::int64_t from;
      std::int64_t length;
    };
    for (const Range range : {Range{0, 1}, Range{4095, 2}, Range{65'535, 131'073}, Range{7, 3 * 1024 * 1024},
                              Range{3 * 1024 * 1024, 4321}}) {
      WaitGroup group(env.scheduler);
      group.add();
      env.scheduler.spawn("sender", [&] {
        for (std::int64_t done = 0; done < range.length;) {
          const auto sent =
              pair.server->send_file(**file, Position(range.from + done), range.length - done, soon(env));
          ASSERT_TRUE(sent) << sent.error().message;
          ASSERT_GT(*sent, 0);
          ASSERT_LE(*sent, range.length - done);
          done += *sent;
        }
        group.done();
      });
      expect_pattern(
          env, *pair.client,
          whole.subspan(static_cast<std::size_t>(range.from), static_cast<std::size_t>(range.length)));
      EXPECT_TRUE(group.wait(soon(env)));
    }
    // Nothing more than the ranges has gone.
    pair.server->shutdown_send();
    EXPECT_EQ(receive_text(env, *pair.client, 1), "");
  });
}

TEST_P(NetworkContract, SendFileTimesOutAgainstAStalledReader) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    auto file = env.disk.open(path("segment"), OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(1024 * 1024));
    const std::vector<std::byte> block(64 * 1024);
    send_until_stuck(env, *pair.server, block);
    EXPECT_EQ((*file)->size(), 1024 * 1024);
    EXPECT_EQ(pair.server->send_file(**file, Position(0), 1024, after(env, milliseconds(5))).error().code,
              ErrorCode::timed_out);
  });
}

TEST_P(NetworkContract, SendFileBeyondTheEndIsAnError) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    auto file = env.disk.open(path("short"), OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(100));
    EXPECT_EQ(pair.server->send_file(**file, Position(100), 50, soon(env)).error().code, ErrorCode::io);
    EXPECT_EQ(pair.server->send_file(**file, Position(4'000'000), 2'000'000, soon(env)).error().code,
              ErrorCode::io);
  });
}

TEST_P(NetworkContract, ARemovedFileCanStillBeSent) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    auto file = env.disk.open(path("gone"), OpenMode::create_new);
    ASSERT_TRUE(file);
    const Bytes part = as_bytes("still sent");
    ASSERT_TRUE((*file)->write_at(std::span(&part, 1), Position(0)));
    ASSERT_TRUE(env.disk.remove(path("gone")));
    ASSERT_EQ(pair.server->send_file(**file, Position(0), 10, soon(env)), 10);
    EXPECT_EQ(receive_text(env, *pair.client, 10), "still sent");
  });
}

TEST_P(NetworkContract, WhatWasSentIsDeliveredAfterDestruction) {
  run([this](Environment& env) {
    Pair pair = connect_pair(env, world_->host());
    const auto bytes = pattern(200'000);
    // Unread input must not turn the close into a reset that eats the answer.
    send_text(env, *pair.client, std::string(10'000, 'x'));
    ASSERT_TRUE(pair.server->wait_readable(soon(env)));
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("server", [&] {
      send_all(env, *pair.server, bytes);
      pair.server.reset();
      group.done();
    });
    expect_pattern(env, *pair.client, bytes);
    EXPECT_EQ(receive_text(env, *pair.client, 1), "");
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(NetworkContract, APeerThatGoesOnSendingStillGetsTheLastAnswer) {
  run([this](Environment& env) {
    Pair pair = connect_pair(env, world_->host());
    send_text(env, *pair.client, "request");
    ASSERT_TRUE(pair.server->wait_readable(soon(env)));
    send_text(env, *pair.server, "answer");
    pair.server.reset();
    for (int round = 0; round < 5; ++round) {
      const Bytes part = as_bytes("more");
      if (!pair.client->send(std::span(&part, 1), soon(env))) {
        break;
      }
      EXPECT_EQ(env.scheduler.park(after(env, milliseconds(1))), Wake::deadline);
    }
    EXPECT_EQ(receive_text(env, *pair.client, 6), "answer");
  });
}

TEST_P(NetworkContract, ClosingAListenerEndsAWaitingAccept) {
  run([this](Environment& env) {
    auto listener = env.network.listen(world_->host(), 0);
    ASSERT_TRUE(listener);
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("acceptor", [&] {
      EXPECT_EQ((*listener)->accept(soon(env)).error().code, ErrorCode::closed);
      group.done();
    });
    env.scheduler.yield();
    (*listener)->close();
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_EQ((*listener)->accept(soon(env)).error().code, ErrorCode::closed);
    EXPECT_EQ(env.network.connect(world_->host(), (*listener)->port(), soon(env)).error().code,
              ErrorCode::unreachable);
  });
}

TEST_P(NetworkContract, AListenerTakesManyConnections) {
  run([this](Environment& env) {
    auto listener = env.network.listen(world_->host(), 0);
    ASSERT_TRUE(listener);
    EXPECT_NE((*listener)->port(), 0);
    EXPECT_NE((*listener)->address().find(std::to_string((*listener)->port())), std::string::npos);
    constexpr int kConnections = 50;
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("server", [&] {
      for (int index = 0; index < kConnections; ++index) {
        auto accepted = (*listener)->accept(soon(env));
        ASSERT_TRUE(accepted);
        group.add();
        env.scheduler.spawn("echo", [&, connection = std::move(*accepted)] {
          send_text(env, *connection, receive_text(env, *connection, 4));
          group.done();
        });
      }
      group.done();
    });
    for (int index = 0; index < kConnections; ++index) {
      group.add();
      env.scheduler.spawn("client", [&, index] {
        const auto connection = env.network.connect(world_->host(), (*listener)->port(), soon(env));
        ASSERT_TRUE(connection);
        const std::string text = std::to_string(1000 + index);
        send_text(env, **connection, text);
        EXPECT_EQ(receive_text(env, **connection, 4), text);
        group.done();
      });
    }
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST_P(NetworkContract, ASecondListenerOnThePortIsRefused) {
  run([this](Environment& env) {
    const auto first = env.network.listen(world_->host(), 0);
    ASSERT_TRUE(first);
    const auto second = env.network.listen(world_->host(), (*first)->port());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::address_in_use);
    EXPECT_NE(second.error().message.find(std::to_string((*first)->port())), std::string::npos)
        << second.error().message;
  });
}

}  // namespace
}  // namespace booblik::env
