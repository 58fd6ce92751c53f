#include "sim/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace booblik::sim {
namespace {

// An id is the serial number above, the slot below.
constexpr std::uint64_t kSlotBits = 20;
constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;
// Deadlines that were not needed stay in the queue until they pass; above so many the queue is swept.
constexpr std::size_t kSweepTimers = 4096;

}  // namespace

SimScheduler::SimScheduler(env::StackPool& stacks, SchedulerOptions options, std::uint64_t seed,
                           Fingerprint& fingerprint, Trace& trace)
    : stacks_(stacks),
      options_(options),
      choices_(random_stream(seed, "scheduler choices")),
      priorities_(random_stream(seed, "scheduler priorities")),
      fingerprint_(fingerprint),
      trace_(trace) {}

SimScheduler::~SimScheduler() {
  BOOBLIK_CHECK(running_ == kNone, "the scheduler outlives the fibers that it runs");
  for (std::size_t slot = 0; slot < records_.size(); ++slot) {
    if (records_[slot]->state != State::free) {
      records_[slot]->fiber->abandon();
      retire(slot);
    }
  }
}

env::FiberId SimScheduler::id_of(std::size_t slot) const {
  return env::FiberId{(records_[slot]->serial << kSlotBits) | slot};
}

SimScheduler::Record* SimScheduler::find(env::FiberId fiber) {
  const std::uint64_t slot = fiber.value & kSlotMask;
  if (slot >= records_.size() || records_[slot]->serial != fiber.value >> kSlotBits) {
    return nullptr;
  }
  return records_[slot].get();
}

env::FiberId SimScheduler::spawn(std::string name, std::move_only_function<void()> body) {
  if (running_ == kNone) {
    return spawn_in(ProcessId{}, nullptr, std::move(name), std::move(body));
  }
  const Record& parent = *records_[running_];
  return spawn_in(parent.process, parent.home, std::move(name), std::move(body));
}

env::FiberId SimScheduler::spawn_in(ProcessId process, ProcessHeap* heap, std::string name,
                                    std::move_only_function<void()> body) {
  const HeapScope world(nullptr);
  if (free_slots_.empty()) {
    BOOBLIK_CHECK(records_.size() <= kSlotMask, "the number of fibers is bounded");
    free_slots_.push_back(records_.size());
    records_.push_back(std::make_unique<Record>());
  }
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  Record& record = *records_[slot];
  record.serial = ++serials_;
  record.permit = false;
  record.process = process;
  record.home = heap;
  record.heap = heap;
  record.name.assign(name);
  record.priority = priorities_.next();
  record.fiber = std::make_unique<env::Fiber>(stacks_, std::move(body));
  ++live_;
  make_ready(slot, 0);
  return id_of(slot);
}

env::FiberId SimScheduler::current() const {
  BOOBLIK_CHECK(running_ != kNone, "current() is called by a fiber");
  return id_of(running_);
}

ProcessId SimScheduler::current_process() const {
  return running_ == kNone ? ProcessId{} : records_[running_]->process;
}

TraceTrack SimScheduler::track_of(const Record& record) {
  return {.process = record.process.value, .fiber = record.serial, .name = record.name};
}

TraceTrack SimScheduler::current_track() const {
  return running_ == kNone ? TraceTrack{.name = "world"} : track_of(*records_[running_]);
}

void SimScheduler::make_ready(std::size_t slot, std::uint64_t barrier) {
  const HeapScope world(nullptr);
  records_[slot]->state = State::ready;
  ready_.push_back({slot, ++orders_, turns_, barrier});
}

void SimScheduler::switch_out() {
  Record& record = *records_[running_];
  record.heap = ProcessHeap::exchange_current(nullptr);
  record.fiber->suspend();
}

void SimScheduler::yield() {
  BOOBLIK_CHECK(running_ != kNone, "yield() is called by a fiber");
  if (records_[running_]->fiber->unwinding()) {
    return;
  }
  make_ready(running_, orders_ + 1);
  switch_out();
}

env::Wake SimScheduler::wait(State state, Deadline deadline, const char* reason, std::string_view detail) {
  Record& record = *records_[running_];
  if (record.fiber->unwinding()) {
    return env::Wake::deadline;
  }
  record.state = state;
  record.reason = reason;
  record.detail = detail;
  record.since = now_;
  record.deadline = deadline;
  ++record.wait;
  if (!deadline.is_never()) {
    const HeapScope world(nullptr);
    timers_.add_wait(std::max(deadline.at(), now_), running_, record.wait);
  }
  switch_out();
  return record.wake;
}

env::Wake SimScheduler::park(Deadline deadline) {
  BOOBLIK_CHECK(running_ != kNone, "park() is called by a fiber");
  if (std::exchange(records_[running_]->permit, false)) {
    return env::Wake::unparked;
  }
  if (deadline.passed(now_)) {
    return env::Wake::deadline;
  }
  return wait(State::parked, deadline, "parked", {});
}

void SimScheduler::unpark(env::FiberId fiber) {
  Record* record = find(fiber);
  if (record == nullptr) {
    return;
  }
  if (record->state != State::parked) {
    record->permit = true;
    return;
  }
  record->wake = env::Wake::unparked;
  make_ready(fiber.value & kSlotMask, 0);
}

env::Wake SimScheduler::block(Deadline deadline, const char* reason, std::string_view detail) {
  BOOBLIK_CHECK(running_ != kNone, "a call that may park is made by a fiber");
  return wait(State::blocked, deadline, reason, detail);
}

void SimScheduler::wake(env::FiberId fiber) {
  Record* record = find(fiber);
  if (record == nullptr || record->state != State::blocked) {
    return;
  }
  record->wake = env::Wake::unparked;
  make_ready(fiber.value & kSlotMask, 0);
}

void SimScheduler::sleep(Duration duration, const char* reason, std::string_view detail) {
  const Deadline end(now_ + duration);
  while (block(end, reason, detail) != env::Wake::deadline) {
  }
}

void SimScheduler::at(Instant when, std::move_only_function<void()> action) {
  const HeapScope world(nullptr);
  timers_.add_action(std::max(when, now_), std::move(action));
}

void SimScheduler::outside(std::move_only_function<void()> action) {
  if (running_ == kNone) {
    action();
    return;
  }
  BOOBLIK_CHECK(!outside_, "one action outside at a time");
  outside_ = std::move(action);
  switch_out();
}

void SimScheduler::abandon(ProcessId process) {
  BOOBLIK_CHECK(running_ == kNone, "fibers are abandoned while none of them runs");
  for (std::size_t slot = 0; slot < records_.size(); ++slot) {
    Record& record = *records_[slot];
    if (record.state == State::free || record.process != process) {
      continue;
    }
    if (trace_.enabled() && record.state == State::blocked) {
      trace_.span(record.since, now_, track_of(record), "cut off",
                  fmt::format("{} {}", record.reason, record.detail));
    }
    record.fiber->abandon();
    retire(slot);
  }
}

void SimScheduler::unwind_world() {
  const HeapScope world(nullptr);
  while (true) {
    std::size_t youngest = kNone;
    for (std::size_t slot = 0; slot < records_.size(); ++slot) {
      const Record& record = *records_[slot];
      if (record.state != State::free && record.process == ProcessId{} &&
          (youngest == kNone || record.serial > records_[youngest]->serial)) {
        youngest = slot;
      }
    }
    if (youngest == kNone) {
      return;
    }
    running_ = youngest;
    records_[youngest]->state = State::running;
    records_[youngest]->fiber->unwind();
    running_ = kNone;
    retire(youngest);
  }
}

void SimScheduler::retire(std::size_t slot) {
  Record& record = *records_[slot];
  std::erase_if(ready_, [slot](const Ready& ready) { return ready.slot == slot; });
  record.fiber.reset();
  record.serial = 0;
  record.state = State::free;
  ++record.wait;
  --live_;
  free_slots_.push_back(slot);
}

void SimScheduler::fire_timers() {
  const auto stale = [this](const TimerQueue::Timer& timer) {
    return records_[timer.slot]->wait != timer.wait ||
           (records_[timer.slot]->state != State::parked && records_[timer.slot]->state != State::blocked);
  };
  if (timers_.size() > kSweepTimers + 16 * records_.size()) {
    timers_.drop_stale(stale);
  }
  while (!timers_.empty()) {
    const TimerQueue::Timer& next = timers_.next();
    const bool forgotten = !next.is_action && stale(next);
    if (!forgotten && next.when > now_) {
      return;
    }
    const TimerQueue::Timer timer = timers_.pop();
    if (timer.is_action) {
      fingerprint_.mix(static_cast<std::uint64_t>(timer.when.since_start().count()));
      timers_.take_action(timer)();
    } else if (!forgotten) {
      records_[timer.slot]->wake = env::Wake::deadline;
      make_ready(timer.slot, 0);
    }
  }
}

bool SimScheduler::eligible(const Ready& ready) const {
  // ready_ is in order, so nobody from before the barrier is left when the first one is not.
  return ready.barrier == 0 || ready_.front().order >= ready.barrier;
}

std::size_t SimScheduler::pick() {
  if (ready_.size() == 1 || options_.policy == Policy::fifo) {
    // The oldest is always eligible.
    return 0;
  }
  if (ready_.front().turn + options_.bypassed_max < turns_) {
    return 0;
  }
  eligible_.clear();
  for (std::size_t index = 0; index < ready_.size(); ++index) {
    if (eligible(ready_[index])) {
      eligible_.push_back(index);
    }
  }
  switch (options_.policy) {
    case Policy::lifo:
      return eligible_.back();
    case Policy::priorities:
      if (happens(priorities_, options_.priority_change_odds)) {
        records_[ready_[priorities_.below(ready_.size())].slot]->priority = priorities_.next();
      }
      return *std::ranges::max_element(
          eligible_, {}, [this](std::size_t index) { return records_[ready_[index].slot]->priority; });
    case Policy::fifo:
    case Policy::uniform:
      break;
  }
  return eligible_[choices_.below(eligible_.size())];
}

void SimScheduler::resume(std::size_t slot) {
  Record& record = *records_[slot];
  running_ = slot;
  record.state = State::running;
  ProcessHeap::exchange_current(record.heap);
  record.fiber->resume();
  ProcessHeap::exchange_current(nullptr);
  running_ = kNone;
}

void SimScheduler::run_turn(std::size_t slot) {
  Record& record = *records_[slot];
  const std::uint64_t serial = record.serial;
  fingerprint_.mix(serial);
  fingerprint_.mix(static_cast<std::uint64_t>(now_.since_start().count()));
  const Instant began = now_;
  resume(slot);
  while (outside_) {
    std::exchange(outside_, nullptr)();
    if (record.serial != serial) {
      return;  // it was killed
    }
    resume(slot);
  }
  if (trace_.enabled()) {
    trace_.span(began, began + options_.step, track_of(record), "fiber", "turn");
  }
  if (record.fiber->ended()) {
    retire(slot);
  }
}

SimScheduler::Stop SimScheduler::run(Instant until, std::uint64_t turns_max) {
  const HeapScope world(nullptr);
  stopping_ = false;
  for (std::uint64_t turn = 0; !stopping_; ++turn) {
    fire_timers();
    if (ready_.empty()) {
      if (timers_.empty()) {
        return Stop::idle;
      }
      if (timers_.next().when > until) {
        now_ = std::max(now_, until);
        return Stop::until;
      }
      now_ = std::max(now_, timers_.next().when);
      continue;
    }
    if (now_ > until) {
      return Stop::until;
    }
    if (turn >= turns_max) {
      return Stop::steps;
    }
    const std::size_t index = pick();
    const std::size_t slot = ready_[index].slot;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
    ++turns_;
    run_turn(slot);
    now_ = now_ + options_.step;
  }
  return Stop::stopped;
}

std::size_t SimScheduler::live_fibers(ProcessId process) const {
  return static_cast<std::size_t>(std::ranges::count_if(records_, [process](const auto& record) {
    return record->state != State::free && record->process == process;
  }));
}

std::vector<std::string> SimScheduler::describe_fibers(ProcessId process) const {
  std::vector<std::string> lines;
  for (const auto& record : records_) {
    if (record->state == State::free || record->process != process) {
      continue;
    }
    if (record->state == State::ready || record->state == State::running) {
      lines.push_back(fmt::format("{}: ready to run", record->name));
      continue;
    }
    const auto milliseconds = [](Duration duration) {
      return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    };
    const std::string end =
        record->deadline.is_never()
            ? std::string("without a deadline")
            : fmt::format("until {} ms", milliseconds(record->deadline.at().since_start()));
    lines.push_back(fmt::format("{}: {}{}{} since {} ms, {}", record->name, record->reason,
                                record->detail.empty() ? "" : " ", record->detail,
                                milliseconds(record->since.since_start()), end));
  }
  return lines;
}

}  // namespace booblik::sim
