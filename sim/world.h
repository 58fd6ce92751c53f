// A simulated world: machines, processes on them, the network between them, and time. One seed and one set of
// options always give the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "env/environment.h"
#include "sim/fabric.h"
#include "sim/faults.h"
#include "sim/fingerprint.h"
#include "sim/probes.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/sim_disk.h"
#include "sim/sim_network.h"
#include "sim/trace.h"

namespace booblik::sim {

struct WorldOptions {
  std::uint64_t seed = 0;
  SchedulerOptions scheduler;
  NetworkOptions network;
  FingerprintHistory* history = nullptr;  // borrowed; may be null
};

enum class ProcessEnd { running, finished, killed, power_lost };

// What a process still held in the kernel and in memory when its main fiber had returned.
struct Leaks {
  std::vector<std::string> fibers;
  std::int64_t handles = 0;
  std::size_t connections = 0;
  std::int64_t memory_blocks = 0;
  std::vector<std::string> memory;  // the first blocks, described

  [[nodiscard]] bool none() const {
    return fibers.empty() && handles == 0 && connections == 0 && memory_blocks == 0;
  }
};

class World final : public CrashHandler {
 public:
  // `sink` may be null. `stacks` is borrowed, so that many worlds can use the same.
  World(env::StackPool& stacks, const WorldOptions& options, TraceSink* sink = nullptr);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() override;

  Machine& add_machine(std::string name, const DiskOptions& disk, const ClockOptions& clock);

  enum class Memory {
    own,     // dropped as a whole when the process is killed
    worlds,  // of the world: for bodies that share data with the outside; a kill leaks it
  };
  // Starts a process whose first fiber runs `main`. The environment lives as long as the world.
  ProcessId start(Machine& machine, std::string name, std::function<void(env::Environment&)> main,
                  Memory memory = Memory::own);

  // The world's own environment, for clients and for what stands outside: never killed, on a machine of its
  // own.
  [[nodiscard]] env::Environment& outside_environment();
  // Its disk, which loses its power on request; nobody has a file open then.
  [[nodiscard]] DiskDevice& outside_disk() { return machines_.front()->disk; }

  // That the process holds now: files and connections.
  [[nodiscard]] std::int64_t handles(ProcessId process) const;

  // Waits until the process has ended, and says how; `running` at the deadline. Called by a fiber of the
  // world.
  ProcessEnd wait(ProcessId process, Deadline deadline = Deadline::never());
  [[nodiscard]] ProcessEnd state(ProcessId process) const;
  // Of a process that finished; taken when its main fiber returned.
  [[nodiscard]] const Leaks& leaks(ProcessId process) const;

  // --- CrashHandler; from anywhere ---
  // Every process of the machine dies, and its disk loses what was not durable.
  void lose_power(Machine& machine) override;
  void kill(ProcessId process) override;

  // The end of everything that runs: kills every process, then unwinds the world's own fibers. They may refer
  // to what lives outside of the world, so whoever owns that calls this before it goes.
  void shut_down();

  // A fiber of the world.
  env::FiberId spawn(std::string name, std::move_only_function<void()> body) {
    return scheduler_.spawn_in(ProcessId{}, nullptr, std::move(name), std::move(body));
  }
  SimScheduler::Stop run(Instant until, std::uint64_t turns_max) { return scheduler_.run(until, turns_max); }

  [[nodiscard]] SimScheduler& scheduler() { return scheduler_; }
  [[nodiscard]] Fabric& fabric() { return fabric_; }
  [[nodiscard]] Fingerprint& fingerprint() { return fingerprint_; }
  [[nodiscard]] ProbeCounts& probes() { return probes_; }
  [[nodiscard]] Trace& trace() { return trace_; }
  [[nodiscard]] Instant now() const { return scheduler_.now(); }
  // What all live fibers wait for.
  [[nodiscard]] std::vector<std::string> describe() const;

 private:
  class SimLogger;
  struct Incarnation;

  Incarnation& make_incarnation(Machine& machine, std::string name, bool own_memory);
  void main_returned(Incarnation& incarnation);
  void release(Incarnation& incarnation, ProcessEnd end);
  [[nodiscard]] Incarnation& incarnation(ProcessId process) const;

  WorldOptions options_;
  Fingerprint fingerprint_;
  Trace trace_;
  ProbeCounts probes_;
  SimScheduler scheduler_;
  Core core_;
  Fabric fabric_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Incarnation>> incarnations_;  // number n at index n
};

}  // namespace booblik::sim
