// What the library must not do to the program that it is a part of.
#include <booblik/booblik.h>
#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "broker_thread.h"

namespace booblik::library {
namespace {

std::size_t threads() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)entry;
    ++count;
  }
  return count;
}

// Of each thread but the caller's (the first): the signals that it blocks, as a mask.
std::vector<std::uint64_t> blocked_signals() {
  std::vector<std::uint64_t> masks;
  const std::string self = std::to_string(getpid());
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == self) {
      continue;
    }
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) {
        masks.push_back(std::stoull(line.substr(7), nullptr, 16));
      }
    }
  }
  return masks;
}

TEST(Host, KeepsItsSignals) {
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) {
    std::signal(signal, SIG_DFL);
  }
  BrokerThread broker;
  const Client client = open_client(broker);
  ASSERT_TRUE(client.topics().has_value());
  broker.stop();
  ASSERT_FALSE(client.topics().has_value());
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << signal;
  }
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGUSR1), 0);
}

TEST(Host, LibraryThreadsTakeNoSignals) {
  BrokerThread broker;
  const Client client = open_client(broker);
  ASSERT_TRUE(client.topics().has_value());
  std::size_t quiet = 0;
  for (const std::uint64_t mask : blocked_signals()) {
    quiet += (mask >> (SIGUSR1 - 1) & 1U) == 1U ? 1U : 0U;
  }
  EXPECT_GE(quiet, 2U);  // the client's and the broker's
}

TEST(Host, GetsItsThreadsAndDescriptorsBack) {
  BrokerThread broker;
  const auto descriptors = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      (void)entry;
      ++count;
    }
    return count;
  };
  const std::size_t threads_before = threads();
  const std::size_t descriptors_before = descriptors();
  for (int round = 0; round < 20; ++round) {
    const Client client = open_client(broker);
    ProducerOptions options;
    options.topic = "t";
    auto producer = Producer::open(client, options);
    ASSERT_TRUE(producer.has_value());
    ASSERT_TRUE(producer->send("x").has_value());
    ConsumerOptions consumer_options;
    consumer_options.topic = "t";
    ASSERT_TRUE(Consumer::open(client, consumer_options).has_value());
    ASSERT_TRUE(Connection::open(client).has_value());
    ASSERT_GT(threads(), threads_before);
  }
  EXPECT_EQ(threads(), threads_before);
  // The broker's side of a connection goes when it has seen the end: ask it once more.
  while (descriptors() > descriptors_before) {
    (void)broker.requests();
  }
}

TEST(Host, MayHaveSeveralClients) {
  BrokerThread first;
  BrokerThread second;
  const Client one = open_client(first);
  const Client two = open_client(second);
  ProducerOptions options;
  options.topic = "t";
  auto to_first = Producer::open(one, options);
  auto to_second = Producer::open(two, options);
  ASSERT_TRUE(to_first.has_value() && to_second.has_value());
  std::thread other([&] {
    for (int i = 0; i < 1'000; ++i) {
      ASSERT_TRUE(to_second->send("second").has_value());
    }
  });
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(to_first->send("first").has_value());
  }
  other.join();
  ASSERT_TRUE(to_first->close().has_value());
  ASSERT_TRUE(to_second->close().has_value());
  EXPECT_EQ(first.records(), std::vector<std::string>(1'000, "first"));
  EXPECT_EQ(second.records(), std::vector<std::string>(1'000, "second"));
}

TEST(Host, AnObjectKeepsTheThreadOfItsClient) {
  BrokerThread broker;
  broker.append("x");
  std::optional<Consumer> consumer;
  {
    const Client client = open_client(broker);
    ConsumerOptions options;
    options.topic = "t";
    consumer = std::move(*Consumer::open(client, options));
  }
  EXPECT_EQ(consumer->poll()->size(), 1U);
}

TEST(Host, NobodyThereIsAnError) {
  ClientOptions options;
  {
    BrokerThread gone;
    options.broker = gone.address();
  }
  const Client client = *Client::open(options);
  EXPECT_EQ(client.topics().error().kind, FailureKind::unreachable);
  EXPECT_EQ(Connection::open(client).error().kind, FailureKind::unreachable);
  ProducerOptions producer_options;
  producer_options.topic = "t";
  EXPECT_EQ(Producer::open(client, producer_options).error().kind, FailureKind::unreachable);
}

TEST(Host, BadAddressesAndTimeoutsAreNamed) {
  ClientOptions options;
  options.broker = "host:port";
  EXPECT_EQ(Client::open(options).error().kind, FailureKind::invalid);
  options = {};
  options.request_timeout = std::chrono::milliseconds(0);
  EXPECT_EQ(Client::open(options).error().kind, FailureKind::invalid);
  options = {};
  options.connect_timeout = std::chrono::milliseconds::max();
  EXPECT_EQ(Client::open(options).error().kind, FailureKind::invalid);
}

TEST(Host, NamesAreText) {
  EXPECT_EQ(name_of(FailureKind::log_reset), "log_reset");
  EXPECT_EQ(name_of(BrokerError::offset_out_of_range), "OFFSET_OUT_OF_RANGE");
  EXPECT_EQ(name_of(Delivered::not_sent), "not_sent");
}

}  // namespace
}  // namespace booblik::library
