// What only the production scheduler and its workers promise.
#include "env/posix/reactor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "env/sync.h"
#include "posix/posix_world.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;

Duration processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto total = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return total(usage.ru_utime) + total(usage.ru_stime);
}

TEST(Reactor, IdleMeansNoProcessorTime) {
  PosixWorld world;
  world.run([&](Environment& env) {
    // A worker is there too, and idle.
    ASSERT_TRUE(env.disk.list(world.directory()));
    const std::int64_t polls = world.system().count(Call::epoll_wait);
    const Duration before = processor_time();
    EXPECT_EQ(env.scheduler.park(after(env, milliseconds(200))), Wake::deadline);
    EXPECT_LT(processor_time() - before, milliseconds(10));
    EXPECT_LE(world.system().count(Call::epoll_wait) - polls, 3);
  });
}

TEST(Reactor, NoThreadIsStartedBeforeThereIsWorkForIt) {
  PosixWorld world;
  world.run([&](Environment& env) {
    const auto listener = env.network.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    EXPECT_EQ(world.environment().workers().threads(), 0U);
    ASSERT_TRUE(env.disk.list(world.directory()));
    ASSERT_TRUE(env.disk.list(world.directory()));
    EXPECT_EQ(world.environment().workers().threads(), 1U);
  });
}

TEST(Reactor, ReadyFibersDoNotStarveTheNetwork) {
  PosixWorld world;
  world.run([](Environment& env) {
    bool stop = false;
    WaitGroup group(env.scheduler);
    for (int index = 0; index < 3; ++index) {
      group.add();
      env.scheduler.spawn("spinner", [&] {
        while (!stop) {
          env.scheduler.yield();
        }
        group.done();
      });
    }
    const auto listener = env.network.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    const auto client = env.network.connect("127.0.0.1", (*listener)->port(), soon(env));
    ASSERT_TRUE(client);
    const auto server = (*listener)->accept(soon(env));
    ASSERT_TRUE(server);
    WaitGroup received(env.scheduler);
    received.add();
    env.scheduler.spawn("receiver", [&] {
      std::array<std::byte, 4> buffer;
      EXPECT_EQ((*server)->receive(buffer, soon(env)), 1U);
      received.done();
    });
    env.scheduler.yield();
    const Bytes part = as_bytes("x");
    EXPECT_TRUE((*client)->send(std::span(&part, 1), soon(env)));
    EXPECT_TRUE(received.wait(soon(env)));
    stop = true;
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST(Reactor, AStreamThatIsAlwaysReadyLeavesOthersTheirTurn) {
  PosixWorld world;
  world.run([](Environment& env) {
    const auto listener = env.network.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    const auto client = env.network.connect("127.0.0.1", (*listener)->port(), soon(env));
    ASSERT_TRUE(client);
    const auto server = (*listener)->accept(soon(env));
    ASSERT_TRUE(server);
    std::vector<std::byte> bytes(2'000'000);
    std::int64_t other_turns = 0;
    bool stop = false;
    WaitGroup group(env.scheduler);
    group.add();
    env.scheduler.spawn("other", [&] {
      while (!stop) {
        ++other_turns;
        env.scheduler.yield();
      }
      group.done();
    });
    // Both ends in one fiber: neither call ever has to wait.
    std::size_t received = 0;
    while (received < 8'000'000) {
      const Bytes part = Bytes(bytes).first(50'000);
      const auto sent = (*client)->send(std::span(&part, 1), soon(env));
      ASSERT_TRUE(sent);
      for (std::size_t left = *sent; left > 0;) {
        const auto taken = (*server)->receive(MutableBytes(bytes).first(left), soon(env));
        ASSERT_TRUE(taken);
        left -= *taken;
        received += *taken;
      }
    }
    EXPECT_GE(other_turns, 30);
    stop = true;
    EXPECT_TRUE(group.wait(soon(env)));
  });
}

TEST(Reactor, FibersThatAreLeftAreNamedAndUnwound) {
  SystemCalls system;
  bool unwound = false;
  {
    auto environment = PosixEnvironment::create({.log_descriptor = -1}, system);
    ASSERT_TRUE(environment);
    struct Guard {
      bool& gone;
      ~Guard() { gone = true; }
    };
    const auto left = (*environment)->run([&] {
      Environment env = (*environment)->roles();
      env.scheduler.spawn("forgotten", [&scheduler = env.scheduler, &unwound] {
        const Guard guard{unwound};
        scheduler.park(Deadline::never());
      });
      env.scheduler.spawn("good", [] {});
      env.scheduler.yield();
    });
    EXPECT_EQ(left, std::vector<std::string>{"forgotten"});
    EXPECT_FALSE(unwound);
  }
  EXPECT_TRUE(unwound);
}

TEST(Reactor, AFiberThatWaitsForAWorkerIsUnwoundAfterTheWorkerIsDone) {
  SystemCalls system;
  bool finished = false;
  std::promise<void> may_finish;
  {
    auto environment = PosixEnvironment::create({.log_descriptor = -1}, system);
    ASSERT_TRUE(environment);
    const auto left = (*environment)->run([&] {
      (*environment)->reactor().spawn("working", [&] {
        std::array<std::byte, 64> on_this_stack{};
        (*environment)->workers().run(WorkerPool::Kind::foreground, [&] {
          may_finish.get_future().wait();
          on_this_stack.fill(std::byte{1});
          finished = true;
        });
      });
      (*environment)->reactor().yield();
    });
    EXPECT_EQ(left.size(), 1U);
    may_finish.set_value();
  }
  EXPECT_TRUE(finished);
}

TEST(WorkerPool, BarriersDoNotQueueBehindOtherWork) {
  PosixWorld world;
  world.run([&](Environment& env) {
    WorkerPool& workers = world.environment().workers();
    std::promise<void> open;
    const std::shared_future<void> opened = open.get_future().share();
    int left = 0;
    // More blocking work of the other kinds than there are threads.
    for (int index = 0; index < 10; ++index) {
      for (const auto kind : {WorkerPool::Kind::background, WorkerPool::Kind::foreground}) {
        ++left;
        workers.post(kind, [opened] { opened.wait(); }, [&left] { --left; });
      }
    }
    for (int index = 0; index < 20; ++index) {
      bool ran = false;
      workers.run(WorkerPool::Kind::barrier, [&] { ran = true; });
      EXPECT_TRUE(ran);
    }
    EXPECT_EQ(left, 20);
    open.set_value();
    while (left > 0) {
      env.scheduler.park(after(env, milliseconds(1)));
    }
  });
}

TEST(WorkerPool, HangingBarriersDoNotStopReads) {
  PosixWorld world;
  world.run([&](Environment& env) {
    WorkerPool& workers = world.environment().workers();
    std::promise<void> open;
    const std::shared_future<void> opened = open.get_future().share();
    int left = 10;
    for (int index = 0; index < 10; ++index) {
      workers.post(WorkerPool::Kind::barrier, [opened] { opened.wait(); }, [&left] { --left; });
    }
    bool ran = false;
    workers.run(WorkerPool::Kind::foreground, [&] { ran = true; });
    EXPECT_TRUE(ran);
    EXPECT_EQ(left, 10);
    open.set_value();
    while (left > 0) {
      env.scheduler.park(after(env, milliseconds(1)));
    }
  });
}

TEST(WorkerPool, WorkOfOneKindRunsInParallelWithinItsBound) {
  PosixWorld world;
  world.run([&](Environment& env) {
    WorkerPool& workers = world.environment().workers();
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    int left = 0;
    for (int index = 0; index < 30; ++index) {
      ++left;
      workers.post(
          WorkerPool::Kind::barrier,
          [&] {
            const int now = ++running;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            // Together: each waits until it has had company, or long enough.
            for (int spins = 0; spins < 1'000'000 && most < 3; ++spins) {
              std::this_thread::yield();
            }
            --running;
          },
          [&left] { --left; });
    }
    while (left > 0) {
      env.scheduler.park(after(env, milliseconds(1)));
    }
    EXPECT_EQ(most, 3) << "four threads, one kept for everything else";
    EXPECT_LE(workers.threads(), 4U);
  });
}

}  // namespace
}  // namespace booblik::env
