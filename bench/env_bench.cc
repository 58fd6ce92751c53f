// What the production environment itself costs: a switch, a wake-up, a timer, an echo over loopback, a write.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <vector>

#include "env/posix/environment.h"
#include "env/sync.h"

namespace booblik::env {
namespace {

// Runs `body` as the main fiber of a fresh environment.
template <class Body>
void in_environment(Body&& body) {
  SystemCalls system;
  auto environment = PosixEnvironment::create({}, system);
  if (!environment) {
    std::terminate();
  }
  (*environment)->run([&] {
    Environment roles = (*environment)->roles();
    body(roles);
  });
}

// To the fiber and back: two switches.
void fiber_resume_and_suspend(benchmark::State& state) {
  StackPool stacks(StackPool::Options{});
  bool stop = false;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>(stacks, [&] {
    while (!stop) {
      fiber->suspend();
    }
  });
  for (auto _ : state) {
    fiber->resume();
  }
  stop = true;
  fiber->resume();
}
BENCHMARK(fiber_resume_and_suspend);

void spawn_and_end(benchmark::State& state) {
  in_environment([&](Environment& env) {
    for (auto _ : state) {
      env.scheduler.spawn("short", [] {});
      env.scheduler.yield();
    }
  });
}
BENCHMARK(spawn_and_end);

// One round trip between two fibers; with a deadline each park also arms and disarms a timer.
void park_and_unpark(benchmark::State& state) {
  const bool with_deadline = state.range(0) != 0;
  in_environment([&](Environment& env) {
    const auto deadline = [&] {
      return with_deadline ? Deadline(env.clock.now() + std::chrono::seconds(60)) : Deadline::never();
    };
    const FiberId main = env.scheduler.current();
    bool stop = false;
    const FiberId other = env.scheduler.spawn("other", [&] {
      while (!stop) {
        env.scheduler.park(deadline());
        env.scheduler.unpark(main);
      }
    });
    for (auto _ : state) {
      env.scheduler.unpark(other);
      env.scheduler.park(deadline());
    }
    stop = true;
    env.scheduler.unpark(other);
    env.scheduler.park(Deadline::never());
  });
}
BENCHMARK(park_and_unpark)->ArgName("deadline")->Arg(0)->Arg(1);

// Answers each `request_bytes` with `answer_bytes`, until the peer's end.
void serve_echo(Connection& connection, std::size_t request_bytes, std::size_t answer_bytes) {
  std::vector<std::byte> input(64 * 1024);
  std::vector<std::byte> output(64 * 1024);
  std::size_t pending = 0;
  for (;;) {
    const auto received = connection.receive(input, Deadline::never());
    if (!received || *received == 0) {
      return;
    }
    pending += *received;
    std::size_t answers = pending / request_bytes * answer_bytes;
    pending %= request_bytes;
    while (answers > 0) {
      const Bytes part = Bytes(output).first(std::min(answers, output.size()));
      answers -= connection.send(std::span(&part, 1), Deadline::never()).value_or(answers);
    }
  }
}

// 8 connections, both ends in this one thread; `depth` requests of 1.3 KiB are sent in one call, answered
// with 32 B each.
void echo(benchmark::State& state) {
  constexpr int kConnections = 8;
  constexpr std::size_t kRequest = 1331;
  constexpr std::size_t kAnswer = 32;
  const auto depth = static_cast<std::size_t>(state.range(0));
  in_environment([&](Environment& env) {
    auto listener = env.network.listen("127.0.0.1", 0);
    std::vector<std::unique_ptr<Connection>> clients;
    WaitGroup servers(env.scheduler);
    for (int index = 0; index < kConnections; ++index) {
      clients.push_back(std::move(*env.network.connect("127.0.0.1", (*listener)->port(), Deadline::never())));
      servers.add();
      env.scheduler.spawn("server", [&, server = std::move(*(*listener)->accept(Deadline::never()))] {
        serve_echo(*server, kRequest, kAnswer);
        servers.done();
      });
    }
    const std::vector<std::byte> requests(kRequest * depth);
    std::vector<std::byte> answers(kAnswer * depth);
    for (auto _ : state) {
      WaitGroup round(env.scheduler);
      for (auto& client : clients) {
        round.add();
        env.scheduler.spawn("client", [&] {
          for (Bytes rest(requests); !rest.empty();) {
            rest = rest.subspan(*client->send(std::span(&rest, 1), Deadline::never()));
          }
          for (std::size_t got = 0; got < answers.size();) {
            got += *client->receive(MutableBytes(answers).subspan(got), Deadline::never());
          }
          round.done();
        });
      }
      static_cast<void>(round.wait(Deadline::never()));
    }
    state.SetItemsProcessed(state.iterations() * kConnections * static_cast<std::int64_t>(depth));
    clients.clear();
    static_cast<void>(servers.wait(Deadline::never()));
  });
}
BENCHMARK(echo)->ArgName("depth")->Arg(1)->Arg(16)->Arg(64);

// To a worker and back.
void worker_round_trip(benchmark::State& state) {
  SystemCalls system;
  auto environment = PosixEnvironment::create({}, system);
  (*environment)->run([&] {
    for (auto _ : state) {
      (*environment)->workers().run(WorkerPool::Kind::barrier, [] {});
    }
  });
}
BENCHMARK(worker_round_trip)->UseRealTime();

}  // namespace
}  // namespace booblik::env

BENCHMARK_MAIN();
