#include "sim/broker_life.h"

#include <cstdlib>
#include <utility>

#include "broker/server.h"
#include "env/sync.h"

namespace booblik::sim {
namespace {

void note_error(BrokerLife& life, const Error& error) {
  const HeapScope world(nullptr);
  life.error.assign(error.message);
}

// From a line like "orders-0: offsets 0..1200, 3 segment(s), 1610612736 bytes".
BrokerLife::Recovered parse_partition(const std::string& line) {
  const std::string_view mark = ": offsets ";
  const std::size_t at = line.find(mark) + mark.size();
  const std::size_t dots = line.find("..", at);
  return {std::strtoll(line.c_str() + at, nullptr, 10), std::strtoll(line.c_str() + dots + 2, nullptr, 10)};
}

void note_recovered(BrokerLife& life, const broker::Server& server) {
  const std::vector<std::string> lines = server.describe_partitions();
  const HeapScope world(nullptr);
  life.recovered.clear();
  for (const std::string& line : lines) {
    life.recovered.push_back(parse_partition(line));
  }
  life.opened = true;
  life.on_opened();
}

// Waits for the word to stop, or for the end of the server.
void wait_for_signal(env::Environment& environment, BrokerLife& life, broker::Server& server,
                     const bool& ended) {
  while (!ended && !life.stop) {
    environment.scheduler.park(Deadline::never());
  }
  if (!ended) {
    server.request_stop();
  }
}

void run_broker(env::Environment& environment, BrokerLife& life) {
  auto server = broker::Server::open(environment, life.options);
  if (!server) {
    return note_error(life, server.error());
  }
  note_recovered(life, **server);
  bool ended = false;
  env::WaitGroup signals(environment.scheduler);
  signals.add();
  life.signal = environment.scheduler.spawn("signal", [&] {
    wait_for_signal(environment, life, **server, ended);
    signals.done();
  });
  const auto stopped = (*server)->run();
  ended = true;
  environment.scheduler.unpark(life.signal);
  static_cast<void>(signals.wait(Deadline::never()));
  if (!stopped) {
    note_error(life, stopped.error());
    // Some of its fibers may wait for the disk for ever: the process ends around it.
    static_cast<void>(server->release());
    return;
  }
  life.ran_to_its_end = true;
}

}  // namespace

void start_broker(World& world, Machine& machine, BrokerLife& life) {
  life.process = world.start(machine, "broker",
                             [&life](env::Environment& environment) { run_broker(environment, life); });
}

void request_stop(World& world, BrokerLife& life) {
  life.stop = true;
  world.scheduler().unpark(life.signal);
}

}  // namespace booblik::sim
