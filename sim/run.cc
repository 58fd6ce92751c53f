#include "sim/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "env/sync.h"
#include "sim/client.h"
#include "sim/final_check.h"
#include "sim/library_consumer.h"
#include "sim/library_producer.h"
#include "sim/log_start.h"
#include "sim/planted_fault.h"
#include "sim/quiet_check.h"
#include "sim/rot_oracle.h"
#include "sim/supervisor.h"

namespace booblik::sim {
namespace {

constexpr std::uint64_t kTurnsMax = 20'000'000;
// After the faults have stopped.
constexpr Duration kClientsEnd = std::chrono::minutes(10);
constexpr Duration kBrokerStarts = std::chrono::minutes(1);

// The whole of a run, seen from outside.
class Run {
 public:
  Run(env::StackPool& stacks, std::uint64_t seed, const Plan& plan, const Watch& watch)
      : seed_(seed),
        plan_(plan),
        world_(stacks,
               {.seed = seed,
                .scheduler = plan.scheduler(),
                .network = plan.network(),
                .history = watch.history},
               watch.sink),
        machine_(world_.add_machine("machine", plan.disk(), plan.clock())),
        model_(static_cast<std::size_t>(plan.topics * plan.partitions)),
        workload_{.world = world_, .machine = machine_, .model = model_, .plan = plan_},
        supervisor_(workload_, plan_, machine_, seed),
        clients_running_(world_.scheduler()) {
    if (plan_.rots()) {
      model_.ask_about_rot(make_rot_oracle(workload_));
    }
    make_clients(seed);
  }

  RunResult run() {
    world_.spawn("run", [this] { main(); });
    const auto stop = world_.run(Instant(std::chrono::hours(24)), kTurnsMax);
    if (!finished_ && !model_.violation() && unfinished_.empty()) {
      unfinished_ =
          stop == SimScheduler::Stop::steps ? "the run does not come to an end" : "the run is deadlocked";
    }
    RunResult outcome = result();
    world_.shut_down();
    return outcome;
  }

 private:
  void make_clients(std::uint64_t seed) {
    env::Random numbers = random_stream(seed, "clients");
    const auto add = [&](Role role, std::int64_t count) {
      for (std::int64_t index = 0; index < count; ++index) {
        clients_.push_back(std::make_unique<Client>(workload_, role, numbers.next()));
      }
    };
    add(Role::producer, plan_.producers);
    add(Role::consumer, plan_.consumers);
    add(Role::poller, plan_.pollers);
    for (std::int64_t index = 0; index < plan_.library_producers; ++index) {
      library_producers_.push_back(std::make_unique<LibraryProducer>(workload_, numbers.next()));
    }
    for (std::int64_t index = 0; index < plan_.library_consumers; ++index) {
      library_consumers_.push_back(std::make_unique<LibraryConsumer>(workload_, numbers.next()));
    }
  }

  template <class Clients>
  void start(const char* name, const Clients& clients) {
    for (const auto& client : clients) {
      clients_running_.add();
      world_.spawn(name, [this, &client] {
        client->run();
        clients_running_.done();
      });
    }
  }

  void main() {
    start("client", clients_);
    start("library producer", library_producers_);
    start("library consumer", library_consumers_);
    world_.spawn("load", [this] {
      world_.scheduler().sleep(std::chrono::milliseconds(plan_.load_millis), "the load");
      workload_.load_is_over = true;
    });
    plant_fault(workload_, supervisor_, clients_running_);
    supervisor_.keep_running();
    if (!model_.violation()) {
      finish();
    }
    finished_ = true;
    world_.scheduler().stop();
  }

  // The faults stop; from here on everything has to work.
  void finish() {
    load_checks_ = model_.checks();
    DiskOptions calm;
    calm.power_loss = machine_.disk.options().power_loss;
    machine_.disk.set_faults(calm);
    plan_.connections_max = 0;
    machine_.disk.files().set_capacity(calm.capacity_bytes);
    world_.fabric().set_options(NetworkOptions{});
    if (!clients_running_.wait(Deadline(world_.now() + kClientsEnd))) {
      unfinished_ = "clients did not finish after the faults had stopped";
      return;
    }
    supervisor_.check_stores_again();
    supervisor_.end_life(supervisor_.draw_end());
    for (int round = 0; round < 2 && !model_.violation(); ++round) {
      if (!supervisor_.start_and_wait(kBrokerStarts)) {
        unfinished_ = "the broker does not start though nothing fails any more: " + supervisor_.last_error();
        return;
      }
      for (auto problem : {check_everything(workload_), check_quiet(workload_, seed_)}) {
        if (!problem.empty()) {
          unfinished_ = std::move(problem);
          return;
        }
      }
      if (round == 1 && quiet_time(plan_) != Duration(0)) {
        const Duration quiet = quiet_time(plan_);
        const Instant began = world_.now();
        hold_over_a_roll(workload_, seed_);
        world_.scheduler().sleep(quiet - std::min(quiet, world_.now() - began), "retention");
        check_retention_is_done(workload_);
      }
      supervisor_.end_life(Supervisor::How::stop);
    }
  }

  RunResult result() {
    RunResult result;
    result.fingerprint = world_.fingerprint().value();
    result.events = world_.fingerprint().events();
    result.turns = world_.scheduler().turns();
    result.virtual_time = world_.now().since_start();
    result.lives = supervisor_.lives();
    result.records = model_.attempts();
    result.checks = model_.checks();
    result.probes = world_.probes().counts();
    if (model_.violation()) {
      result.verdict = Verdict::safety;
      result.reason = *model_.violation();
    } else if (!unfinished_.empty()) {
      result.verdict = Verdict::liveness;
      result.reason = unfinished_;
      for (const std::string& line : world_.describe()) {
        result.reason += "\n  " + line;
      }
    } else if (const char* missing = not_compared(); missing != nullptr) {
      result.verdict = Verdict::vacuous;
      result.reason = std::string("nothing was compared by: ") + missing;
    }
    return result;
  }

  // A check that a run must have made, under load or at its end, and this one did not; null when there is
  // none.
  const char* not_compared() {
    for (const char* check : {"acked batch", "fetched record", "told end", "recovered partition"}) {
      if (load_checks_[check] == 0) {
        return check;
      }
    }
    return model_.checks().contains("final record") ? nullptr : "final record";
  }

  std::uint64_t seed_;
  Plan plan_;
  World world_;
  Machine& machine_;
  Model model_;
  Workload workload_;
  Supervisor supervisor_;
  env::WaitGroup clients_running_;
  CheckCounts load_checks_;  // before the faults stopped
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<LibraryProducer>> library_producers_;
  std::vector<std::unique_ptr<LibraryConsumer>> library_consumers_;
  bool finished_ = false;
  std::string unfinished_;
};

}  // namespace

const char* to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::vacuous:
      return "vacuous";
    case Verdict::safety:
      return "safety";
    case Verdict::liveness:
      return "liveness";
  }
  return "?";
}

RunResult run_plan(env::StackPool& stacks, std::uint64_t seed, const Plan& plan, const Watch& watch) {
  return Run(stacks, seed, plan, watch).run();
}

}  // namespace booblik::sim
