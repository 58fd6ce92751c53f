// Keeps a broker running through the load: lives that end by kill, power loss or in good order, with another
// configuration now and then; tells the model what each end means.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "env/random.h"
#include "sim/broker_life.h"
#include "sim/workload.h"

namespace booblik::sim {

class Supervisor {
 public:
  Supervisor(Workload& workload, Plan& plan, Machine& machine, std::uint64_t seed);

  // Until the load is over; the broker of then goes on running. Parks.
  void keep_running();

  // Ends the present life, if there is one, as `how` says. Parks.
  enum class How { kill, power, stop };
  void end_life(How how);
  [[nodiscard]] How draw_end();

  // Starts a broker and waits until it has recovered; false when it does not within `within`. Parks.
  [[nodiscard]] bool start_and_wait(Duration within);

  [[nodiscard]] bool running() const;
  // A broker that runs when the faults have stopped takes records: a want of space or handles ends with its
  // cause. Only what makes the state of a log unknown is final, until a restart. Parks.
  void check_stores_again();

  // Tells the model of a life that has ended by itself: in good order, by a failure, or by a crash that was
  // scripted. Nothing when that is known.
  void note_own_end();

  // The error of the last life, for people.
  [[nodiscard]] const std::string& last_error() const { return lives_.back()->error; }
  [[nodiscard]] std::size_t lives() const { return lives_.size(); }
  [[nodiscard]] const BrokerLife& life() const { return *lives_.back(); }

 private:
  void start();
  // Waits until the process ends or `deadline`.
  void watch(Deadline deadline);
  void note_recovery();
  void check_lock();
  void check_stop_time(Duration took);
  void fill_disk_for_a_while();
  void take_handles_for_a_while();
  void check_serves_again();
  void lose_file();

  Workload& workload_;
  Plan& plan_;
  Machine& machine_;
  env::Random random_;
  env::Random spells_;
  env::Random files_;
  env::Random brief_lives_;
  std::vector<std::unique_ptr<BrokerLife>> lives_;
  Instant life_began_;
  bool end_noted_ = true;
  bool power_was_lost_ = false;  // since the last recovery
};

}  // namespace booblik::sim
