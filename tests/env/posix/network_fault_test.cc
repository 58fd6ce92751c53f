// The network of the production environment against system calls that fail and descriptors that run out.
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/resource.h>

#include <cerrno>
#include <numeric>
#include <string>
#include <vector>

#include "env/sync.h"
#include "posix/posix_world.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;

struct Pair {
  std::unique_ptr<Connection> client;
  std::unique_ptr<Connection> server;
};

Pair connect_pair(Environment& env, Listener& listener) {
  auto client = env.network.connect("127.0.0.1", listener.port(), soon(env));
  EXPECT_TRUE(client) << client.error().message;
  auto server = listener.accept(soon(env));
  EXPECT_TRUE(server) << server.error().message;
  return Pair{std::move(*client), std::move(*server)};
}

std::unique_ptr<Listener> listen(Environment& env) {
  auto listener = env.network.listen("127.0.0.1", 0);
  EXPECT_TRUE(listener) << listener.error().message;
  return std::move(*listener);
}

// Sends `text` one way and expects it at the other end.
void expect_delivery(Environment& env, Connection& from, Connection& to, const std::string& text) {
  WaitGroup group(env.scheduler);
  group.add();
  env.scheduler.spawn("sender", [&] {
    for (Bytes rest = as_bytes(text); !rest.empty();) {
      const auto sent = from.send(std::span(&rest, 1), soon(env));
      ASSERT_TRUE(sent) << sent.error().message;
      rest = rest.subspan(*sent);
    }
    group.done();
  });
  std::string received;
  std::array<std::byte, 4096> buffer;
  while (received.size() < text.size()) {
    const auto bytes = to.receive(buffer, soon(env));
    ASSERT_TRUE(bytes) << bytes.error().message;
    ASSERT_GT(*bytes, 0U);
    received += as_text(Bytes(buffer).first(*bytes));
  }
  EXPECT_EQ(received, text);
  EXPECT_TRUE(group.wait(soon(env)));
}

class NetworkFaultTest : public ::testing::Test {
 protected:
  void run(const std::function<void(Environment&)>& body) { world_.run(body); }

  PosixWorld world_;
  FaultySystemCalls& system_ = world_.system();
};

TEST_F(NetworkFaultTest, InterruptedCallsAreMadeAgain) {
  for (const Call call :
       {Call::accept4, Call::recv, Call::sendmsg, Call::sendfile, Call::epoll_wait, Call::write}) {
    system_.inject({.call = call, .result = -EINTR, .every = 2});
  }
  run([&](Environment& env) {
    const auto listener = listen(env);
    const Pair pair = connect_pair(env, *listener);
    for (int round = 0; round < 5; ++round) {
      expect_delivery(env, *pair.client, *pair.server, std::string(100'000, 'a'));
      expect_delivery(env, *pair.server, *pair.client, "short");
    }
    auto file = env.disk.open(world_.directory() + "/f", OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(10));
    EXPECT_EQ(pair.server->send_file(**file, Position(0), 10, soon(env)), 10);
  });
}

TEST_F(NetworkFaultTest, ShortSendsAreShortAndNothingIsLost) {
  system_.inject({.call = Call::sendmsg, .result = 0, .max_bytes = 7});
  run([&](Environment& env) {
    const auto listener = listen(env);
    const Pair pair = connect_pair(env, *listener);
    std::string text(1000, '?');
    std::iota(text.begin(), text.end(), '\0');
    expect_delivery(env, *pair.client, *pair.server, text);
  });
}

TEST_F(NetworkFaultTest, SendFileFailsWithIoWhenTheDiskDoes) {
  run([&](Environment& env) {
    const auto listener = listen(env);
    const Pair pair = connect_pair(env, *listener);
    auto file = env.disk.open(world_.directory() + "/f", OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(100'000));
    system_.inject({.call = Call::sendfile, .result = -EIO, .times = 1});
    EXPECT_EQ(pair.server->send_file(**file, Position(0), 10, soon(env)).error().code, ErrorCode::io);
    system_.inject({.call = Call::preadv2, .result = -EIO});  // the worker's read of cold bytes
    EXPECT_EQ(pair.server->send_file(**file, Position(50'000), 10, soon(env)).error().code, ErrorCode::io);
    system_.heal();
    EXPECT_EQ(pair.server->send_file(**file, Position(50'000), 10, soon(env)), 10);
  });
}

TEST_F(NetworkFaultTest, SendFileWorksWithoutCachestat) {
  system_.inject({.call = Call::cachestat, .result = -EPERM});
  run([&](Environment& env) {
    const auto listener = listen(env);
    const Pair pair = connect_pair(env, *listener);
    auto file = env.disk.open(world_.directory() + "/f", OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(200'000));
    for (std::int64_t done = 0; done < 60'000;) {
      const auto sent = pair.server->send_file(**file, Position(done), 60'000 - done, soon(env));
      ASSERT_TRUE(sent);
      done += *sent;
    }
    EXPECT_EQ(system_.count(Call::cachestat), 1) << "what was refused once is not tried again";
  });
}

TEST_F(NetworkFaultTest, HotBytesAreLookedUpOncePerMebibyteNotOncePerPiece) {
  run([&](Environment& env) {
    const auto listener = listen(env);
    const Pair pair = connect_pair(env, *listener);
    constexpr std::int64_t kLength = 4 * 1024 * 1024;
    auto file = env.disk.open(world_.directory() + "/f", OpenMode::create_new);
    ASSERT_TRUE(file);
    const std::string text(kLength, 'x');
    const Bytes part = as_bytes(text);
    ASSERT_TRUE((*file)->write_at(std::span(&part, 1), Position(0)));
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("reader", [&] {
      std::vector<std::byte> buffer(1 << 20);
      for (std::int64_t total = 0; total < kLength;) {
        total += static_cast<std::int64_t>(pair.client->receive(buffer, soon(env)).value());
      }
      group.done();
    });
    for (std::int64_t done = 0; done < kLength;) {
      const auto sent = pair.server->send_file(**file, Position(done), kLength - done, soon(env));
      ASSERT_TRUE(sent);
      done += *sent;
    }
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_LE(system_.count(Call::cachestat), 6);
    EXPECT_GE(system_.count(Call::sendfile), 4 * 1024 / 128);
  });
}

TEST_F(NetworkFaultTest, ALackOfDescriptorsNeitherSpinsNorLosesTheListener) {
  run([&](Environment& env) {
    const auto listener = listen(env);
    system_.inject({.call = Call::accept4, .result = -EMFILE});
    const auto client = env.network.connect("127.0.0.1", listener->port(), soon(env));
    ASSERT_TRUE(client);
    const std::int64_t before = system_.count(Call::accept4);
    EXPECT_EQ(listener->accept(after(env, milliseconds(350))).error().code, ErrorCode::timed_out);
    EXPECT_LE(system_.count(Call::accept4) - before, 6) << "one try each 100 ms";
    EXPECT_GE(system_.count(Call::accept4) - before, 2);
    system_.heal();
    const auto server = listener->accept(soon(env));
    ASSERT_TRUE(server) << server.error().message;
    expect_delivery(env, **client, **server, "still alive");
  });
}

TEST_F(NetworkFaultTest, AConnectionThatIsGoneBeforeItIsAcceptedIsSkipped) {
  run([&](Environment& env) {
    const auto listener = listen(env);
    system_.inject({.call = Call::accept4, .result = -ECONNABORTED, .times = 2});
    const Pair pair = connect_pair(env, *listener);
    expect_delivery(env, *pair.client, *pair.server, "next one");
  });
}

TEST_F(NetworkFaultTest, AKernelThatLosesEveryConnectionDoesNotStopTheReactor) {
  run([&](Environment& env) {
    const auto listener = listen(env);
    system_.inject({.call = Call::accept4, .result = -ECONNABORTED});
    const auto client = env.network.connect("127.0.0.1", listener->port(), soon(env));
    ASSERT_TRUE(client);
    EXPECT_EQ(listener->accept(after(env, milliseconds(250))).error().code, ErrorCode::timed_out);
    EXPECT_LE(system_.count(Call::accept4), 1000);
    system_.heal();
    EXPECT_TRUE(listener->accept(soon(env)));
  });
}

TEST_F(NetworkFaultTest, ConnectReportsWhyItCouldNot) {
  run([&](Environment& env) {
    system_.inject({.call = Call::connect, .result = -ENETUNREACH, .times = 1});
    const auto unreachable = env.network.connect("127.0.0.1", 9, soon(env));
    ASSERT_FALSE(unreachable);
    EXPECT_EQ(unreachable.error().code, ErrorCode::unreachable);
    EXPECT_NE(unreachable.error().message.find("127.0.0.1:9"), std::string::npos)
        << unreachable.error().message;
    system_.inject({.call = Call::socket, .result = -EMFILE, .times = 1});
    EXPECT_EQ(env.network.connect("127.0.0.1", 9, soon(env)).error().code, ErrorCode::too_many_files);
    EXPECT_EQ(env.network.connect("", 9, soon(env)).error().code, ErrorCode::unreachable);
    EXPECT_EQ(env.network.listen("", 0).error().code, ErrorCode::invalid);
    EXPECT_EQ(env.network.listen("192.0.2.1", 0).error().code, ErrorCode::invalid) << "not our address";
  });
}

TEST_F(NetworkFaultTest, NamesAreLookedUp) {
  addrinfo* known = nullptr;
  if (getaddrinfo("localhost", nullptr, nullptr, &known) != 0) {
    GTEST_SKIP() << "this system has no name for its loopback address (no /etc/hosts)";
  }
  freeaddrinfo(known);
  run([&](Environment& env) {
    const auto listener = env.network.listen("localhost", 0);
    ASSERT_TRUE(listener) << listener.error().message;
    const auto client = env.network.connect("localhost", (*listener)->port(), soon(env));
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_TRUE((*listener)->accept(soon(env)));
  });
}

TEST_F(NetworkFaultTest, Ipv6Works) {
  run([&](Environment& env) {
    const auto listener = env.network.listen("::1", 0);
    if (!listener) {
      GTEST_SKIP() << listener.error().message;
    }
    EXPECT_EQ((*listener)->address(), "[::1]:" + std::to_string((*listener)->port()));
    const auto client = env.network.connect("::1", (*listener)->port(), soon(env));
    ASSERT_TRUE(client);
    EXPECT_TRUE((*listener)->accept(soon(env)));
  });
}

TEST(DescriptorReserve, AFloodOfConnectionsLeavesStorageItsDescriptors) {
  FaultySystemCalls system;
  const std::int64_t others = count_open_descriptors(system) + 2;  // epoll and the event descriptor
  constexpr std::int64_t kUsable = 40;
  constexpr std::int64_t kReserve = 14;  // 26 for the network: a listener, 12 pairs, and one that waits
  system.pretend_descriptor_limit(others + kUsable);
  auto environment = PosixEnvironment::create({.storage_descriptors = kReserve}, system);
  ASSERT_TRUE(environment);
  const auto unfinished = (*environment)->run([&] {
    Environment env = (*environment)->roles();
    const auto listener = listen(env);
    std::vector<Pair> pairs;
    std::unique_ptr<Connection> waiting;
    for (;;) {
      auto client = env.network.connect("127.0.0.1", listener->port(), soon(env));
      ASSERT_TRUE(client) << client.error().message;
      const std::int64_t calls = system.count(Call::accept4);
      auto server = listener->accept(after(env, milliseconds(150)));
      if (!server) {
        EXPECT_EQ(server.error().code, ErrorCode::timed_out);
        EXPECT_EQ(system.count(Call::accept4), calls) << "nothing is accepted into the reserve";
        waiting = std::move(*client);
        break;
      }
      pairs.push_back(Pair{std::move(*client), std::move(*server)});
    }
    EXPECT_EQ((*environment)->descriptors().network_open(), kUsable - kReserve);
    EXPECT_EQ(env.network.connect("127.0.0.1", listener->port(), soon(env)).error().code,
              ErrorCode::too_many_files);
    std::vector<std::unique_ptr<File>> files;
    for (std::int64_t index = 0; index < kReserve; ++index) {
      auto file = env.disk.open("/proc/self/status", OpenMode::read_only);
      ASSERT_TRUE(file);
      files.push_back(std::move(*file));
    }
    // Whoever waits in the backlog gets the place of one that leaves.
    bool accepted = false;
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("acceptor", [&] {
      accepted = listener->accept(soon(env)).has_value();
      group.done();
    });
    env.scheduler.yield();
    EXPECT_FALSE(accepted);
    pairs.pop_back();
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_TRUE(accepted);
  });
  EXPECT_TRUE(unfinished.empty());
}

TEST(DescriptorReserve, TheLimitIsRaisedToTheHardOne) {
  SystemCalls system;
  rlimit limit{};
  ASSERT_EQ(system.get_descriptor_limit(&limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 256);
  ASSERT_EQ(system.set_descriptor_limit(limit), 0);
  EXPECT_EQ(descriptor_limit(system), 256);
  EXPECT_GE(raise_descriptor_limit(system), 256);
  rlimit raised{};
  ASSERT_EQ(system.get_descriptor_limit(&raised), 0);
  EXPECT_EQ(raised.rlim_cur, raised.rlim_max);
  ASSERT_EQ(system.set_descriptor_limit(before), 0);
}

}  // namespace
}  // namespace booblik::env
