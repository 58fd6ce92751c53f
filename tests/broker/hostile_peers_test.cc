// Peers that use up what the broker has, and one honest client beside them; in virtual time.
#include <chrono>

#include "broker_world.h"

namespace booblik::broker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMiB = 1024 * 1024;

Options options_with(std::int64_t request_memory) {
  Options options;
  options.request_memory_bytes_max = request_memory;
  options.metrics_every = milliseconds(0);
  return options;
}

std::int64_t millis(Duration duration) {
  return std::chrono::duration_cast<milliseconds>(duration).count();
}

// Round trips of a PRODUCE of so many bytes, each within `limit`.
void produce_within(BrokerWorld& world, sim::RawClient& client, std::size_t bytes, milliseconds limit) {
  const Instant began = world.environment().clock.now();
  ASSERT_TRUE(client.send(produce_frame(7, bytes), world.in(seconds(100))));
  const auto answer = client.receive_frame(world.in(seconds(100)));
  const Duration took = world.environment().clock.now() - began;
  ASSERT_TRUE(answer) << answer.error().message;
  const auto header = wire::decode_response_header(*answer);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->correlation_id, 7);
  EXPECT_EQ(header->error, wire::WireError::none);
  EXPECT_LE(millis(took), limit.count()) << bytes << " bytes";
}

TEST(HostilePeersTest, FramesThatStandStillDoNotBlockAnHonestOne) {
  BrokerWorld world(options_with(128 * kMiB));  // 64 MiB to receive into
  const std::vector<std::byte> frame = produce_frame(1, 4 * kMiB);
  for (int i = 0; i < 60; ++i) {
    world.spawn_client("attacker", [&] {
      const auto client = world.connect();
      ASSERT_TRUE(client->send(Bytes(frame).first(2 * kMiB), world.in(seconds(100))));
      // Answered by nothing but the end.
      EXPECT_FALSE(client->receive_frame(world.in(seconds(100))));
    });
  }
  world.spawn_client("honest", [&] {
    const auto client = world.connect();
    world.environment().scheduler.park(world.in(milliseconds(400)));
    produce_within(world, *client, 100, milliseconds(200));
    produce_within(world, *client, 50'000, milliseconds(200));
    produce_within(world, *client, 4 * kMiB, milliseconds(2500));
    produce_within(world, *client, 50'000, milliseconds(200));
    // Whoever is left was silent for long: cut as soon as memory is wanted.
    produce_within(world, *client, 4 * kMiB, milliseconds(1500));
  });
  world.run();
  EXPECT_GT(world.world().probes().count("session.waits_for_receive_memory"), 0U);
}

TEST(HostilePeersTest, AByteNowAndThenBuysNoTimeWhileOthersWait) {
  BrokerWorld world(options_with(32 * kMiB));  // 16 MiB to receive into, one frame is finished at a time
  const std::vector<std::byte> frame = produce_frame(1, 4 * kMiB);
  for (int i = 0; i < 12; ++i) {
    world.spawn_client("loris", [&] {
      const auto client = world.connect();
      ASSERT_TRUE(client->send(Bytes(frame).first(kMiB), world.in(seconds(100))));
      for (std::size_t at = kMiB; at < kMiB + 100; ++at) {
        if (!client->send(Bytes(frame).subspan(at, 1), world.in(seconds(1)))) {
          return;
        }
        world.environment().scheduler.park(world.in(milliseconds(100)));
      }
    });
  }
  world.spawn_client("honest", [&] {
    const auto client = world.connect();
    world.environment().scheduler.park(world.in(milliseconds(1000)));
    produce_within(world, *client, 4 * kMiB, milliseconds(4000));
  });
  world.run();
}

TEST(HostilePeersTest, ASlowPeerThatMovesIsServed) {
  BrokerWorld world(options_with(32 * kMiB));
  const std::vector<std::byte> frame = produce_frame(1, 2 * kMiB);
  // 32 KiB every 200 ms: 160 KiB/s, while others want memory now and then.
  world.spawn_client("slow", [&] {
    const auto client = world.connect();
    for (std::size_t at = 0; at < frame.size(); at += 32 * 1024) {
      const std::size_t piece = std::min<std::size_t>(32 * 1024, frame.size() - at);
      ASSERT_TRUE(client->send(Bytes(frame).subspan(at, piece), world.in(seconds(10)))) << at;
      world.environment().scheduler.park(world.in(milliseconds(200)));
    }
    EXPECT_TRUE(client->receive_frame(world.in(seconds(10))));
  });
  for (int i = 0; i < 6; ++i) {
    world.spawn_client("busy", [&] {
      const auto client = world.connect();
      for (int round = 0; round < 10; ++round) {
        produce_within(world, *client, 4 * kMiB, milliseconds(3000));
      }
    });
  }
  world.run();
  EXPECT_GT(world.world().probes().count("session.waits_for_receive_memory"), 0U);
}

TEST(HostilePeersTest, ThousandsOfAnswersOfManyConnectionsAreBounded) {
  Options options = options_with(1 * kMiB);  // 64 KiB of answers: about 800
  options.pipelined_requests_max = 4096;
  BrokerWorld world(options, {.buffer_bytes = 4096});
  std::vector<std::byte> requests;
  for (int i = 0; i < 4000; ++i) {
    wire::encode_fetch(requests, i, "default", PartitionId(0), Offset(0), 1000, milliseconds(60'000), 1);
  }
  std::vector<std::unique_ptr<sim::RawClient>> peers;
  world.spawn_client("peers", [&] {
    for (int i = 0; i < 8; ++i) {
      peers.push_back(world.connect());
      // Sends until the broker reads no further.
      std::ignore = peers.back()->send(requests, world.in(milliseconds(300)));
    }
    EXPECT_GT(world.world().probes().count("session.pipeline_full"), 0U);
    const auto honest = world.connect();
    produce_within(world, *honest, 100, milliseconds(200));  // which also lets the held ones go
    for (auto& peer : peers) {
      peer->abort();
    }
    produce_within(world, *honest, 100, milliseconds(200));
    peers.clear();
  });
  world.run();
}

}  // namespace
}  // namespace booblik::broker
