#include <string>
#include <utility>
#include <vector>

#include "contract/contract.h"
#include "contract/streams.h"
#include "env/sync.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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

}  // namespace
}  // namespace booblik::env
