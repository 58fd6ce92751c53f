#include <string>
#include <utility>

#include "contract/contract.h"
#include "contract/streams.h"
#include "env/sync.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;

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
