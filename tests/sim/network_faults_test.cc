// Each fault of the network, set exactly.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "test_world.h"

namespace booblik::sim {
namespace {

// Runs a server and a client of one connection, both outside of any process.
class NetworkFaultsTest : public ::testing::Test {
 protected:
  using Body = std::function<void(env::Connection&)>;

  void run(const NetworkOptions& options, const Body& server, const Body& client, std::uint64_t seed = 1) {
    test_ = std::make_unique<TestWorld>(DiskOptions{}, options, seed);
    auto listener = environment().network.listen("127.0.0.1", 9092);
    test_->world().spawn("server", [&] {
      auto connection = (*listener)->accept(soon(environment()));
      ASSERT_TRUE(connection);
      server(**connection);
    });
    test_->world().spawn("client", [&] {
      auto connection = environment().network.connect("127.0.0.1", 9092, soon(environment()));
      ASSERT_TRUE(connection);
      client(**connection);
    });
    test_->run_on();
    (*listener)->close();
    test_->run_on();
  }

  env::Environment& environment() { return test_->world().outside_environment(); }

  void send_all(env::Connection& connection, std::string_view text) {
    while (!text.empty()) {
      const Bytes part = as_bytes(text);
      const auto sent = connection.send(std::span(&part, 1), soon(environment()));
      ASSERT_TRUE(sent);
      text.remove_prefix(*sent);
    }
  }

  // Until the end; notes the sizes of the pieces.
  std::string receive_all(env::Connection& connection, std::multiset<std::size_t>* pieces = nullptr) {
    std::string text;
    char buffer[512];
    while (true) {
      const auto received =
          connection.receive(std::as_writable_bytes(std::span(buffer)), soon(environment()));
      if (!received || *received == 0) {
        return text;
      }
      text.append(buffer, *received);
      if (pieces != nullptr) {
        pieces->insert(*received);
      }
    }
  }

  std::unique_ptr<TestWorld> test_;
};

TEST_F(NetworkFaultsTest, StreamsAreCutAnywhereAndLoseNothing) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  std::multiset<std::size_t> pieces;
  std::uint64_t single_bytes = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    run(
        {.short_send_odds = 2, .short_receive_odds = 2, .one_byte_odds = 4, .split_odds = 2},
        [&](env::Connection& connection) { EXPECT_EQ(receive_all(connection, &pieces), text); },
        [&](env::Connection& connection) {
          send_all(connection, text);
          connection.shutdown_send();
        },
        seed);
    single_bytes += test_->world().probes().count("sim.network.one_byte");
  }
  EXPECT_GT(pieces.size(), 100U);
  EXPECT_GT(single_bytes, 0U);
}

TEST_F(NetworkFaultsTest, AFullBufferStopsTheSender) {
  run(
      {.buffer_bytes = 10},
      [&](env::Connection& connection) {
        test_->world().scheduler().sleep(std::chrono::seconds(1), "sleep");
        EXPECT_EQ(receive_all(connection), std::string(100, 'x'));
      },
      [&](env::Connection& connection) {
        send_all(connection, std::string(100, 'x'));
        EXPECT_GE(environment().clock.now(), Instant(std::chrono::seconds(1)));
      });
  EXPECT_GT(test_->world().probes().count("sim.network.full"), 0U);
}

TEST_F(NetworkFaultsTest, AResetLosesBytesInFlightAndBothEndsSeeIt) {
  int answers_lost = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    int resets_seen = 0;
    run(
        {.reset_odds = 1},
        [&](env::Connection& connection) {
          connection.on_reset([&] { ++resets_seen; });
          const Bytes part = as_bytes("answer");
          EXPECT_TRUE(connection.send(std::span(&part, 1), soon(environment())));
          test_->world().scheduler().sleep(std::chrono::seconds(1), "sleep");
        },
        [&](env::Connection& connection) {
          connection.on_reset([&] { ++resets_seen; });
          test_->world().scheduler().sleep(std::chrono::seconds(1), "sleep");
          std::byte byte;
          const auto received = connection.receive(std::span(&byte, 1), soon(environment()));
          answers_lost += received ? 0 : 1;
        },
        seed);
    EXPECT_EQ(resets_seen, 2);
  }
  EXPECT_GT(answers_lost, 0);
}

TEST_F(NetworkFaultsTest, AStallDelaysAndKeepsTheOrder) {
  run(
      {.stall_odds = 2, .stall = std::chrono::seconds(3)},
      [&](env::Connection& connection) { EXPECT_EQ(receive_all(connection), "abcdef"); },
      [&](env::Connection& connection) {
        for (const char byte : std::string("abcdef")) {
          send_all(connection, std::string_view(&byte, 1));
        }
      });
  EXPECT_GT(test_->world().probes().count("sim.network.stall"), 0U);
  EXPECT_GE(test_->world().now(), Instant(std::chrono::seconds(3)));
}

TEST_F(NetworkFaultsTest, SendFileReadsTheFileWhenTheBytesArrive) {
  run(
      {}, [&](env::Connection& connection) { EXPECT_EQ(receive_all(connection), "changed"); },
      [&](env::Connection& connection) {
        auto file = environment().disk.open("/file", env::OpenMode::create_new);
        EXPECT_TRUE(write_text(**file, 0, "as sent"));
        EXPECT_EQ(connection.send_file(**file, Position(0), 7, soon(environment())), 7);
        EXPECT_TRUE(write_text(**file, 0, "changed"));
      });
}

TEST_F(NetworkFaultsTest, AConnectCanBeRefused) {
  TestWorld test({}, {.refuse_odds = 1});
  env::Environment& outside = test.world().outside_environment();
  auto listener = outside.network.listen("127.0.0.1", 9092);
  test.world().spawn("client", [&] {
    const auto connection = outside.network.connect("127.0.0.1", 9092, soon(outside));
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, ErrorCode::unreachable);
  });
  test.run_on();
}

TEST_F(NetworkFaultsTest, AMachineWithoutPowerIsSilentForAWhile) {
  TestWorld test({}, {.power_loss_silent_odds = 1, .silence = std::chrono::seconds(9)});
  test.world().start(test.machine(), "server", [](env::Environment& environment) {
    auto listener = environment.network.listen("127.0.0.1", 9092);
    auto connection = (*listener)->accept(Deadline::never());
    environment.scheduler.park(Deadline::never());
  });
  bool ended = false;
  test.world().spawn("client", [&] {
    env::Environment& outside = test.world().outside_environment();
    test.world().scheduler().sleep(Duration(1'000'000), "sleep");
    auto connection = outside.network.connect("127.0.0.1", 9092, soon(outside));
    ASSERT_TRUE(connection);
    test.world().scheduler().sleep(Duration(1'000'000), "sleep");
    test.world().lose_power(test.machine());
    const Instant began = outside.clock.now();
    std::byte byte;
    EXPECT_FALSE((*connection)->receive(std::span(&byte, 1), soon(outside)));
    EXPECT_GE(outside.clock.now() - began, std::chrono::seconds(9));
    ended = true;
  });
  test.run_on();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace booblik::sim
