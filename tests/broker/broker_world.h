// The real broker in a simulated world, and clients that send what they like.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../sim/test_world.h"
#include "sim/broker_life.h"
#include "sim/raw_client.h"
#include "wire/request.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::broker {

class BrokerWorld {
 public:
  static constexpr std::uint64_t kTurnsMax = 20'000'000;

  explicit BrokerWorld(Options options, const sim::NetworkOptions& network = {})
      : test_(sim::DiskOptions{}, network) {
    life_.options = std::move(options);
    life_.options.data_directory = "/data";
    life_.on_opened = [] {};
    sim::start_broker(test_.world(), test_.machine(), life_);
  }

  env::Environment& environment() { return test_.world().outside_environment(); }
  [[nodiscard]] Deadline in(Duration duration) { return Deadline(environment().clock.now() + duration); }
  [[nodiscard]] sim::World& world() { return test_.world(); }

  void spawn_client(const std::string& name, std::function<void()> body) {
    ++clients_;
    test_.world().spawn(name, [this, body = std::move(body)] {
      body();
      if (--clients_ == 0) {
        sim::request_stop(test_.world(), life_);
      }
    });
  }

  // Until all clients have ended and the broker has stopped, in good order and without leaving anything.
  void run() {
    EXPECT_EQ(test_.world().run(Instant(std::chrono::hours(10)), kTurnsMax), sim::SimScheduler::Stop::idle)
        << ::testing::PrintToString(test_.world().describe());
    EXPECT_TRUE(life_.ran_to_its_end) << life_.error;
    EXPECT_TRUE(test_.world().leaks(life_.process).none());
  }

  // A connection that is accepted; tries until the broker listens.
  [[nodiscard]] std::unique_ptr<sim::RawClient> connect() {
    auto client = std::make_unique<sim::RawClient>(environment(), life_.options.port);
    while (!client->connect(in(std::chrono::seconds(1)))) {
      environment().scheduler.park(in(std::chrono::milliseconds(1)));
    }
    return client;
  }

 private:
  sim::BrokerLife life_;
  sim::TestWorld test_;
  int clients_ = 0;
};

inline std::vector<std::byte> produce_frame(std::int32_t id, std::size_t payload_bytes,
                                            wire::AckPolicy acks = wire::AckPolicy::written) {
  const std::vector<std::byte> payload(payload_bytes, std::byte{'p'});
  const Bytes part = payload;
  std::vector<std::byte> frame;
  wire::encode_produce(frame, id, "default", PartitionId(0), acks, std::span(&part, 1));
  return frame;
}

}  // namespace booblik::broker
