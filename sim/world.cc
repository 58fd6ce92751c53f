#include "sim/world.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace booblik::sim {

class World::SimLogger final : public env::Logger {
 public:
  explicit SimLogger(Core& core) : core_(core) {}

  void write(env::Level level, std::string_view line) override {
    const HeapScope world(nullptr);
    core_.fingerprint.mix_text(line);
    if (core_.trace.enabled()) {
      const char* prefix = level == env::Level::error     ? "error: "
                           : level == env::Level::warning ? "warning: "
                                                          : "";
      core_.trace.mark(core_.scheduler.now(), core_.scheduler.current_track(), "log",
                       fmt::format("{}{}", prefix, line));
    }
  }

 private:
  Core& core_;
};

// A process with its roles.
struct World::Incarnation {
  Incarnation(World& world, ProcessId id, Machine& machine, std::string process_name, bool own_memory)
      : process(id, machine, own_memory),
        name(std::move(process_name)),
        disk(world.core_, process, world),
        network(world.core_, world.fabric_, process),
        random(random_stream(world.options_.seed, fmt::format("process {}", id.value))),
        logger(world.core_),
        environment{world.scheduler_, machine.clock, disk, network, random, world.probes_, logger} {}

  [[nodiscard]] TraceTrack track() const { return {.process = process.id.value, .name = name}; }

  Process process;
  std::string name;
  SimDisk disk;
  SimNetwork network;
  env::Random random;
  SimLogger logger;
  env::Environment environment;
  std::function<void(env::Environment&)> main;
  ProcessEnd end = ProcessEnd::running;
  Leaks leaks;
  std::vector<env::FiberId> waiters;
};

World::World(env::StackPool& stacks, const WorldOptions& options, TraceSink* sink)
    : options_(options),
      fingerprint_(options.history),
      trace_(sink, fingerprint_),
      scheduler_(stacks, options.scheduler, options.seed, fingerprint_, trace_),
      core_{scheduler_, fingerprint_, trace_, probes_},
      fabric_(core_, options.network, options.seed) {
  Machine& outside = add_machine("outside", DiskOptions{}, ClockOptions{});
  make_incarnation(outside, "outside", false);
  if (trace_.enabled()) {
    probes_.set_watcher(
        [this](std::string_view name) { trace_.mark(now(), scheduler_.current_track(), "probe", name); });
  }
}

World::~World() {
  shut_down();
}

void World::shut_down() {
  for (std::size_t number = 1; number < incarnations_.size(); ++number) {
    kill(incarnations_[number]->process.id);
  }
  scheduler_.unwind_world();
}

Machine& World::add_machine(std::string name, const DiskOptions& disk, const ClockOptions& clock) {
  const HeapScope world(nullptr);
  const std::uint64_t seed = random_stream(options_.seed, name).next();
  machines_.push_back(std::make_unique<Machine>(std::move(name), core_, disk, clock, seed));
  return *machines_.back();
}

World::Incarnation& World::make_incarnation(Machine& machine, std::string name, bool own_memory) {
  const HeapScope world(nullptr);
  const ProcessId id{static_cast<std::uint32_t>(incarnations_.size())};
  incarnations_.push_back(std::make_unique<Incarnation>(*this, id, machine, std::move(name), own_memory));
  return *incarnations_.back();
}

World::Incarnation& World::incarnation(ProcessId process) const {
  BOOBLIK_CHECK(process.value < incarnations_.size(), "a process was started");
  return *incarnations_[process.value];
}

env::Environment& World::outside_environment() {
  return incarnations_[0]->environment;
}

ProcessId World::start(Machine& machine, std::string name, std::function<void(env::Environment&)> main,
                       Memory memory) {
  const HeapScope world(nullptr);
  Incarnation& made = make_incarnation(machine, std::move(name), memory == Memory::own);
  made.main = std::move(main);
  trace_.mark(now(), made.track(), "process", fmt::format("{} starts", made.name));
  // The body captures two pointers, which need no memory that a kill would leak.
  scheduler_.spawn_in(made.process.id, made.process.memory(), made.name, [this, &made] {
    made.main(made.environment);
    scheduler_.outside([this, &made] { main_returned(made); });
  });
  return made.process.id;
}

void World::main_returned(Incarnation& made) {
  // Its own fiber is still there, about to end.
  if (scheduler_.live_fibers(made.process.id) > 1) {
    made.leaks.fibers = scheduler_.describe_fibers(made.process.id);
  }
  made.leaks.handles = made.process.handles();
  made.leaks.connections = fabric_.open_sides(made.process);
  made.leaks.memory_blocks = made.process.heap.live_blocks();
  made.leaks.memory = made.process.heap.describe(4);
  trace_.mark(now(), made.track(), "process", fmt::format("{} finishes", made.name));
  release(made, ProcessEnd::finished);
}

// Everything that the kernel takes back. No fiber runs.
void World::release(Incarnation& made, ProcessEnd end) {
  made.end = end;
  Process& process = made.process;
  scheduler_.abandon(process.id);
  fabric_.process_died(process, end == ProcessEnd::power_lost);
  for (const auto& [handle, inode] : std::exchange(process.files, {})) {
    process.machine.disk.files().dereference(inode);
  }
  std::erase_if(process.machine.locks, [&](const auto& lock) { return lock.second == process.id; });
  process.heap.free_all();
  for (const env::FiberId waiter : std::exchange(made.waiters, {})) {
    scheduler_.wake(waiter);
  }
}

void World::kill(ProcessId process) {
  scheduler_.outside([this, process] {
    Incarnation& killed = incarnation(process);
    if (killed.end == ProcessEnd::running) {
      probes_.hit("sim.process.kill");
      trace_.mark(now(), killed.track(), "process", fmt::format("{} is killed", killed.name));
      release(killed, ProcessEnd::killed);
    }
  });
}

void World::lose_power(Machine& machine) {
  scheduler_.outside([this, &machine] {
    trace_.mark(now(), {.name = machine.name}, "process", fmt::format("{} loses power", machine.name));
    for (const auto& made : incarnations_) {
      if (&made->process.machine == &machine && made->end == ProcessEnd::running) {
        release(*made, ProcessEnd::power_lost);
      }
    }
    fabric_.machine_lost_power(machine);
    machine.disk.lose_power();
  });
}

ProcessEnd World::wait(ProcessId process, Deadline deadline) {
  Incarnation& waited = incarnation(process);
  while (waited.end == ProcessEnd::running && !deadline.passed(now())) {
    waited.waiters.push_back(scheduler_.current());
    scheduler_.block(deadline, "the end of", waited.name);
    std::erase(waited.waiters, scheduler_.current());
  }
  return waited.end;
}

std::int64_t World::handles(ProcessId process) const {
  return incarnation(process).process.handles();
}

ProcessEnd World::state(ProcessId process) const {
  return incarnation(process).end;
}

const Leaks& World::leaks(ProcessId process) const {
  return incarnation(process).leaks;
}

std::vector<std::string> World::describe() const {
  std::vector<std::string> lines;
  for (const auto& made : incarnations_) {
    for (std::string& line : scheduler_.describe_fibers(made->process.id)) {
      lines.push_back(fmt::format("{}: {}", made->name, line));
    }
  }
  return lines;
}

}  // namespace booblik::sim
