// A machine, and a process on it: what a crash takes with it and what it leaves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/disk_device.h"
#include "sim/fingerprint.h"
#include "sim/probes.h"
#include "sim/process_heap.h"
#include "sim/scheduler.h"
#include "sim/sim_clock.h"
#include "sim/trace.h"

namespace booblik::sim {

// What every part of the simulated environment works with.
struct Core {
  SimScheduler& scheduler;
  Fingerprint& fingerprint;
  Trace& trace;
  ProbeCounts& probes;
};

// Survives its processes, and loses power now and then.
struct Machine {
  Machine(std::string machine_name, Core& core, const DiskOptions& disk_options,
          const ClockOptions& clock_options, std::uint64_t seed)
      : name(std::move(machine_name)),
        disk(disk_options, seed, core.scheduler, core.probes),
        clock(core.scheduler, clock_options, seed) {}

  std::string name;
  DiskDevice disk;
  SimClock clock;
  std::map<std::string, ProcessId> locks;  // of directories, by path
};

using HandleNumber = std::uint64_t;

// One incarnation of a program. What it holds in the kernel (handles, locks, sockets) is kept here and by the
// network, on the world's heap, so that its death can release it.
struct Process {
  Process(ProcessId process_id, Machine& on, bool has_own_heap)
      : id(process_id), machine(on), own_heap(has_own_heap) {}

  [[nodiscard]] ProcessHeap* memory() { return own_heap ? &heap : nullptr; }
  [[nodiscard]] std::int64_t handles() const {
    return static_cast<std::int64_t>(files.size()) - reclaiming + sockets;
  }
  [[nodiscard]] bool out_of_handles() const { return handles() >= machine.disk.options().handles_max; }

  ProcessId id;
  Machine& machine;
  bool own_heap;
  ProcessHeap heap;
  std::map<HandleNumber, InodeNumber> files;
  struct Syncs {
    std::int64_t under_way = 0;
    bool one_fails = false;  // the others of the same time are told nothing
  };
  std::map<InodeNumber, Syncs> syncs;  // while there are any
  HandleNumber next_handle = 1;
  std::int64_t sockets = 0;
  std::int64_t reclaiming = 0;  // of files: closed for the program, their space comes back later
};

// Kills from inside an operation. Neither returns to a fiber of a process that it kills.
class CrashHandler {
 public:
  virtual ~CrashHandler() = default;
  virtual void lose_power(Machine& machine) = 0;
  virtual void kill(ProcessId process) = 0;
};

// Runs `make` on the world's heap and copies what it returns to the caller's.
template <class Make>
[[nodiscard]] auto from_world(Make make) {
  using Made = decltype(make());
  std::optional<Made> made;
  {
    const HeapScope world(nullptr);
    made.emplace(make());
  }
  return Made(std::as_const(*made));
}

}  // namespace booblik::sim
