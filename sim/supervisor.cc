#include "sim/supervisor.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/final_check.h"
#include "sim/log_start.h"
#include "sim/rot_oracle.h"

namespace booblik::sim {
namespace {

// After a restart clients come back within half a second: the first records of a life are its last.
constexpr std::int64_t kBriefLifeMillisMax = 1'000;
constexpr std::int64_t kRestartMillisMax = 1'000;
constexpr std::int64_t kRecoveryCrashMicrosMax = 5'000;
constexpr Duration kStopsWithin = std::chrono::seconds(3);
constexpr Duration kNever = std::chrono::hours(10'000);
constexpr Duration kWatchStep = std::chrono::milliseconds(5);

}  // namespace

Supervisor::Supervisor(Workload& workload, Plan& plan, Machine& machine, std::uint64_t seed)
    : workload_(workload),
      plan_(plan),
      machine_(machine),
      random_(random_stream(seed, "supervisor")),
      spells_(random_stream(seed, "supervisor spells")),
      files_(random_stream(seed, "supervisor files")),
      brief_lives_(random_stream(seed, "brief lives")) {}

void Supervisor::start() {
  workload_.stop_requested = false;
  workload_.retention_was_on =
      workload_.retention_was_on || plan_.retention_bytes != 0 || plan_.retention_millis != 0;
  workload_.model.life_begins();
  life_began_ = workload_.now();
  lives_.push_back(std::make_unique<BrokerLife>());
  lives_.back()->options = plan_.broker();
  lives_.back()->on_opened = [this] { note_recovery(); };
  end_noted_ = false;
  workload_.serving_since = Instant(kNever);
  start_broker(workload_.world, machine_, *lives_.back());
}

bool Supervisor::running() const {
  return !lives_.empty() && workload_.world.state(lives_.back()->process) == ProcessEnd::running;
}

void Supervisor::note_recovery() {
  workload_.serving_since = workload_.now();
  const auto& recovered = lives_.back()->recovered;
  if (recovered.size() != workload_.model.partitions()) {
    workload_.model.violate(
        fmt::format("the broker opened {} of {} partitions", recovered.size(), workload_.model.partitions()));
    return;
  }
  for (std::size_t partition = 0; partition < recovered.size(); ++partition) {
    check_recovered_start(workload_, partition, recovered[partition].start, power_was_lost_);
    workload_.model.recovered(partition, recovered[partition].start, recovered[partition].end);
  }
  power_was_lost_ = false;
}

void Supervisor::note_own_end() {
  if (end_noted_) {
    return;
  }
  end_noted_ = true;
  const BrokerLife& life = *lives_.back();
  workload_.watch_cache();
  workload_.world.probes().hit(life.ran_to_its_end ? "sim.life.stopped" : "sim.life.gave_up");
  if (life.ran_to_its_end) {
    workload_.model.stopped_in_good_order();
    const Leaks& leaks = workload_.world.leaks(life.process);
    workload_.model.count("leak check");
    if (!leaks.none()) {
      workload_.model.violate(
          fmt::format("a broker that stopped leaks {} fiber(s), {} handle(s), {} connection(s), {} "
                      "block(s) of memory{}{}",
                      leaks.fibers.size(), leaks.handles, leaks.connections, leaks.memory_blocks,
                      leaks.fibers.empty() && leaks.memory.empty() ? "" : ": ",
                      !leaks.fibers.empty()   ? leaks.fibers.front()
                      : !leaks.memory.empty() ? leaks.memory.front()
                                              : ""));
    }
  } else if (workload_.world.state(life.process) == ProcessEnd::power_lost) {
    workload_.model.power_lost();
    power_was_lost_ = true;
  } else {
    workload_.model.killed();
  }
  workload_.model.life_ends();
}

void Supervisor::watch(Deadline deadline) {
  while (running() && !deadline.passed(workload_.now())) {
    workload_.world.wait(lives_.back()->process, deadline);
  }
  if (!running()) {
    note_own_end();
  }
}

Supervisor::How Supervisor::draw_end() {
  const std::int64_t draw = between(
      random_, 1, std::max<std::int64_t>(1, plan_.kill_weight + plan_.power_weight + plan_.stop_weight));
  if (draw <= plan_.kill_weight) {
    return How::kill;
  }
  return draw <= plan_.kill_weight + plan_.power_weight ? How::power : How::stop;
}

void Supervisor::end_life(How how) {
  if (!running()) {
    return note_own_end();
  }
  workload_.watch_cache();
  check_lock();
  BrokerLife& life = *lives_.back();
  if (!life.opened) {
    workload_.world.probes().hit("sim.life.ended_in_recovery");
  }
  if (how == How::stop) {
    if (life.opened) {
      workload_.stop_requested = true;
      const Instant asked = workload_.now();
      request_stop(workload_.world, life);
      watch(Deadline(workload_.now() + life.options.shutdown_timeout + std::chrono::seconds(60)));
      if (!running()) {
        check_stop_time(workload_.now() - asked);
        return;
      }
      workload_.model.violate("a broker that was told to stop did not end");
    }
    how = How::kill;
  }
  end_noted_ = true;
  if (how == How::kill) {
    workload_.world.kill(life.process);
    workload_.model.killed();
  } else {
    workload_.world.lose_power(machine_);
    workload_.model.power_lost();
    power_was_lost_ = true;
  }
  workload_.model.life_ends();
}

// Held FETCHes are let go, and nobody waits for peers that take their answers.
void Supervisor::check_stop_time(Duration took) {
  if (!workload_.nothing_fails() || !workload_.is_fast() || plan_.misbehaviour_odds != 0 ||
      plan_.offence_odds != 0) {
    return;
  }
  workload_.model.count("stop in time");
  if (took > kStopsWithin) {
    workload_.model.violate(fmt::format("a broker took {} ms to stop, though nothing failed",
                                        std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  }
}

// Nobody else can take the data directory of a broker that serves.
void Supervisor::check_lock() {
  const BrokerLife& life = *lives_.back();
  if (!life.opened || life.stop) {
    return;
  }
  workload_.model.count("lock");
  const auto lock = machine_.locks.find(life.options.data_directory);
  if (lock == machine_.locks.end() || lock->second != life.process) {
    workload_.model.violate("a running broker does not hold the lock of its data directory");
  }
}

void Supervisor::fill_disk_for_a_while() {
  FileSystem& files = machine_.disk.files();
  const auto sleep = [this](std::int64_t millis_max) {
    workload_.world.scheduler().sleep(std::chrono::milliseconds(between(random_, 1, millis_max)), "sleep");
  };
  sleep(plan_.life_millis / 2 + 1);
  if (workload_.ended()) {
    return;  // the faults have stopped meanwhile
  }
  workload_.world.probes().hit("sim.disk.filled");
  files.set_capacity(files.used_bytes() + between(random_, 0, 4) * kPageBytes);
  sleep(5'000);
  files.set_capacity(DiskOptions{}.capacity_bytes);
  check_serves_again();
}

void Supervisor::take_handles_for_a_while() {
  const auto sleep = [this](std::int64_t millis_max) {
    workload_.world.scheduler().sleep(std::chrono::milliseconds(between(spells_, 1, millis_max)), "sleep");
  };
  sleep(plan_.life_millis / 2 + 1);
  if (workload_.ended() || !running()) {
    return;
  }
  workload_.world.probes().hit("sim.disk.handles_taken");
  machine_.disk.set_handles_max(workload_.world.handles(lives_.back()->process) + between(spells_, 0, 2));
  sleep(5'000);
  machine_.disk.set_handles_max(workload_.ended() ? DiskOptions{}.handles_max : plan_.disk().handles_max);
  check_serves_again();
}

// What was missing is there again, so every partition takes records, and gives them.
void Supervisor::check_serves_again() {
  const std::uint64_t epoch = workload_.model.epoch();
  if (!running() || !lives_.back()->opened || !workload_.only_spells_fail()) {
    return;
  }
  const std::string problem = check_serves(workload_);
  if (epoch != workload_.model.epoch() || workload_.stop_requested) {
    return;
  }
  workload_.model.count("served again");
  if (!problem.empty()) {
    workload_.model.violate("after a spell without space or handles: " + problem);
  }
}

void Supervisor::check_stores_again() {
  if (!running() || !lives_.back()->opened || plan_.lost_file_odds != 0) {
    return;
  }
  const std::uint64_t epoch = workload_.model.epoch();
  for (std::size_t partition = 0; partition < workload_.model.partitions(); ++partition) {
    const auto may_refuse = [this, directory = directory_of(workload_, partition)] {
      const auto failed_at = machine_.disk.last_error_in(directory);
      return failed_at && *failed_at >= life_began_;
    };
    std::string problem = may_refuse() ? "" : check_stores(workload_, partition);
    if (!problem.empty() && !may_refuse()) {
      // A group that met a fault may have hung until now: what is staged behind it fails with it.
      problem = check_stores(workload_, partition);
    }
    if (epoch != workload_.model.epoch() || workload_.model.violation()) {
      return;
    }
    if (may_refuse()) {  // perhaps since what hung until now has failed
      workload_.world.probes().hit("sim.life.may_have_failed_partition");
      continue;
    }
    workload_.model.count("stores again");
    if (!problem.empty()) {
      return workload_.model.violate(fmt::format(
          "partition {} takes no records, though nothing is missing any more and nothing else had failed: {}",
          partition, problem));
    }
  }
}

// Somebody deletes a segment file, cuts it, or leaves a copy of it, while the broker is down.
void Supervisor::lose_file() {
  const std::size_t partition = files_.below(workload_.model.partitions());
  const std::vector<std::int64_t> bases = segment_bases(workload_, partition);
  if (bases.empty()) {
    return;
  }
  // The newest one more often: only there the log can end too early.
  const std::size_t which = files_.one_in(2) ? bases.size() - 1 : files_.below(bases.size());
  const std::string path = segment_path(workload_, partition, bases[which]);
  // Of a log that had one segment only the checkpoint is left, which may be older than that segment.
  const std::int64_t from = bases.size() == 1 ? 0 : bases[which];
  const auto meddled = workload_.meddled_from.emplace(partition, from).first;
  meddled->second = std::min(meddled->second, from);
  if (files_.one_in(4)) {
    machine_.disk.copy_file(path, segment_path(workload_, partition, bases[which] + between(files_, 1, 8)));
  } else {
    machine_.disk.lose_file(path, files_);
  }
}

void Supervisor::keep_running() {
  while (!workload_.ended()) {
    if (happens(random_, static_cast<Odds>(plan_.reconfigure_odds)) && !lives_.empty()) {
      workload_.world.probes().hit("sim.life.reconfigured");
      reconfigure(plan_, random_);
    }
    if (!lives_.empty() && happens(files_, static_cast<Odds>(plan_.lost_file_odds))) {
      lose_file();
    }
    start();
    if (plan_.life_millis != 0 && happens(random_, static_cast<Odds>(plan_.crash_recovery_odds))) {
      watch(Deadline(workload_.now() +
                     std::chrono::microseconds(between(random_, 0, kRecoveryCrashMicrosMax))));
      end_life(draw_end());
      workload_.world.scheduler().sleep(std::chrono::milliseconds(between(random_, 0, kRestartMillisMax)),
                                        "restart");
      continue;
    }
    if (happens(random_, static_cast<Odds>(plan_.full_disk_odds))) {
      workload_.world.spawn("disk filler", [this] { fill_disk_for_a_while(); });
    }
    if (happens(spells_, static_cast<Odds>(plan_.few_handles_odds))) {
      workload_.world.spawn("handle taker", [this] { take_handles_for_a_while(); });
    }
    Deadline end(workload_.now() + std::chrono::milliseconds(plan_.load_millis));
    if (plan_.life_millis != 0) {
      end = Deadline(workload_.now() + std::chrono::milliseconds(between(random_, 1, plan_.life_millis)));
      if (happens(brief_lives_, static_cast<Odds>(plan_.brief_life_odds))) {
        end = std::min(end, Deadline(workload_.now() + std::chrono::milliseconds(
                                                           between(brief_lives_, 1, kBriefLifeMillisMax))));
      }
    }
    while (!workload_.ended() && running() && !end.passed(workload_.now())) {
      watch(std::min(end, Deadline(workload_.now() + std::chrono::seconds(1))));
    }
    if (workload_.ended()) {
      return;
    }
    end_life(draw_end());
    workload_.world.scheduler().sleep(std::chrono::milliseconds(between(random_, 0, kRestartMillisMax)),
                                      "restart");
  }
}

bool Supervisor::start_and_wait(Duration within) {
  start();
  const Deadline deadline(workload_.now() + within);
  while (running() && !lives_.back()->opened && !deadline.passed(workload_.now())) {
    watch(std::min(deadline, Deadline(workload_.now() + kWatchStep)));
  }
  return running() && lives_.back()->opened;
}

}  // namespace booblik::sim
