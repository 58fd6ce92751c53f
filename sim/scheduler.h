// Fibers in virtual time. One fiber runs at a time on the thread of run(); which of the ready ones is next is
// drawn from the seed, so every interleaving that cooperative fibers allow can happen. Time stands still
// while a fiber runs, takes a small step between turns, and jumps to the next timer when nobody is ready.
//
// A fiber belongs to a process (0 is the world, which never dies). When a process is killed its fibers are
// abandoned: they never run again, their stacks go back to the pool, no destructor runs (process_heap.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "env/fiber/fiber.h"
#include "env/random.h"
#include "env/scheduler.h"
#include "sim/fingerprint.h"
#include "sim/process_heap.h"
#include "sim/random_stream.h"
#include "sim/timer_queue.h"
#include "sim/trace.h"

namespace booblik::sim {

enum class Policy {
  fifo,
  lifo,
  uniform,
  priorities,  // the highest runs; priorities are drawn at birth and changed now and then
};

struct SchedulerOptions {
  Policy policy = Policy::uniform;
  Duration step{1'000};            // what a turn costs in virtual time
  Odds priority_change_odds = 50;  // per turn, for Policy::priorities
  std::uint64_t bypassed_max =
      2000;  // a fiber that was ready for so many turns is next, so that none starves
};

struct ProcessId {
  std::uint32_t value = 0;  // 0: the world

  auto operator<=>(const ProcessId&) const = default;
};

class SimScheduler final : public env::Scheduler {
 public:
  // All of it is borrowed.
  SimScheduler(env::StackPool& stacks, SchedulerOptions options, std::uint64_t seed, Fingerprint& fingerprint,
               Trace& trace);
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;
  // Abandons every fiber that is left.
  ~SimScheduler() override;

  // --- env::Scheduler; a spawned fiber belongs to the process of its parent ---
  env::FiberId spawn(std::string name, std::move_only_function<void()> body) override;
  [[nodiscard]] env::FiberId current() const override;
  void yield() override;
  env::Wake park(Deadline deadline) override;
  void unpark(env::FiberId fiber) override;

  // --- for the environment ---

  // `heap` may be null (the world's). Called from anywhere.
  env::FiberId spawn_in(ProcessId process, ProcessHeap* heap, std::string name,
                        std::move_only_function<void()> body);

  // Waits like park, but on the environment's behalf: only wake() ends it, unpark leaves its permit for
  // later. `reason` is static text and, with `detail`, says what is waited for; both are read only while
  // waiting.
  env::Wake block(Deadline deadline, const char* reason, std::string_view detail = {});
  void wake(env::FiberId fiber);
  void sleep(Duration duration, const char* reason, std::string_view detail = {});

  // Runs `action` at `when` on the scheduler's own stack and the world's heap. It must not park.
  void at(Instant when, std::move_only_function<void()> action);

  // Runs `action` now, while no fiber runs, on the scheduler's own stack: it may kill any process. The
  // calling fiber goes on right afterwards, unless it was killed.
  void outside(std::move_only_function<void()> action);

  // Abandons the fibers of `process`. Only while no fiber runs.
  void abandon(ProcessId process);
  // Ends the fibers of the world, the youngest first, with their destructors; waits in these end at once.
  void unwind_world();

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] bool in_fiber() const { return running_ != kNone; }
  [[nodiscard]] ProcessId current_process() const;
  [[nodiscard]] TraceTrack current_track() const;

  // --- for who runs the simulation ---

  enum class Stop {
    idle,     // nobody is ready and no timer is set: finished, or deadlocked
    until,    // virtual time has come to `until`
    stopped,  // stop() was called
    steps,    // the limit of turns was reached
  };
  Stop run(Instant until, std::uint64_t turns_max);
  // Ends run() after the present turn.
  void stop() { stopping_ = true; }

  [[nodiscard]] std::size_t live_fibers(ProcessId process) const;
  [[nodiscard]] std::size_t live_fibers() const { return live_; }
  // One line a fiber: its name, and what it waits for since when. Empty when there is none.
  [[nodiscard]] std::vector<std::string> describe_fibers(ProcessId process) const;
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  enum class State { free, ready, running, parked, blocked };

  struct Record {
    std::unique_ptr<env::Fiber> fiber;
    std::uint64_t serial = 0;  // with the slot, the id; 0 when free
    State state = State::free;
    env::Wake wake = env::Wake::unparked;
    bool permit = false;
    std::uint64_t wait = 0;  // counts waits, so that an old timer does not end a new one
    std::uint64_t priority = 0;
    ProcessId process;
    ProcessHeap* home = nullptr;  // of the process
    ProcessHeap* heap = nullptr;  // where it allocates when it runs next
    std::string name;
    const char* reason = "";
    std::string_view detail;
    Instant since;
    Deadline deadline = Deadline::never();
  };

  struct Ready {
    std::size_t slot;
    std::uint64_t order;    // of becoming ready
    std::uint64_t turn;     // when that was
    std::uint64_t barrier;  // runs only when all that were ready before this are gone (yield)
  };

  [[nodiscard]] Record* find(env::FiberId fiber);
  [[nodiscard]] static TraceTrack track_of(const Record& record);
  [[nodiscard]] env::FiberId id_of(std::size_t slot) const;
  void make_ready(std::size_t slot, std::uint64_t barrier);
  env::Wake wait(State state, Deadline deadline, const char* reason, std::string_view detail);
  void switch_out();
  void fire_timers();
  [[nodiscard]] std::size_t pick();
  [[nodiscard]] bool eligible(const Ready& ready) const;
  void run_turn(std::size_t slot);
  void resume(std::size_t slot);
  void retire(std::size_t slot);

  env::StackPool& stacks_;
  SchedulerOptions options_;
  env::Random choices_;
  env::Random priorities_;
  Fingerprint& fingerprint_;
  Trace& trace_;

  std::vector<std::unique_ptr<Record>> records_;
  std::vector<std::size_t> free_slots_;
  std::vector<Ready> ready_;  // in order of becoming ready
  std::vector<std::size_t> eligible_;
  TimerQueue timers_;
  std::move_only_function<void()> outside_;

  Instant now_;
  std::size_t running_ = kNone;
  std::size_t live_ = 0;
  std::uint64_t serials_ = 0;
  std::uint64_t orders_ = 0;
  std::uint64_t turns_ = 0;
  bool stopping_ = false;
};

}  // namespace booblik::sim
