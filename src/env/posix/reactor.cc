#include "env/posix/reactor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

constexpr std::uint32_t kResumesPerPoll = 64;
// The clock costs about as much as a switch of fibers, so it is not read at each one.
constexpr std::uint32_t kResumesPerClockReading = 8;
constexpr Duration kPollInterval = std::chrono::microseconds(50);
constexpr std::size_t kEventsPerPoll = 256;

// A fiber id is a generation above a slot: a slot is used again, a pair never is within any uptime.
constexpr unsigned kSlotBits = 24;
constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;

}  // namespace

class Reactor::Task final : public Timer {
 public:
  enum class State { ready, running, parked };

  Task(Reactor& reactor, FiberId id, std::string name, std::move_only_function<void()> body)
      : reactor_(reactor), id_(id), name_(std::move(name)), fiber_(reactor.stacks_, std::move(body)) {}

  void fire() override {
    wake_ = Wake::deadline;
    reactor_.make_ready(*this);
  }

  Reactor& reactor_;
  FiberId id_;
  std::string name_;
  Fiber fiber_;
  State state_ = State::ready;
  Wake wake_ = Wake::unparked;
  bool permit_ = false;
};

Result<std::unique_ptr<Reactor>> Reactor::create(SystemCalls& system, Clock& clock,
                                                 StackPool::Options stacks) {
  const std::int64_t epoll = system.epoll_create();
  if (epoll < 0) {
    return fail_system("create", "an epoll instance", epoll);
  }
  Descriptor epoll_owner(system, static_cast<int>(epoll));
  const std::int64_t event = system.eventfd();
  if (event < 0) {
    return fail_system("create", "an event descriptor", event);
  }
  Descriptor event_owner(system, static_cast<int>(event));
  // Edge-triggered: every write to it is an edge, so it is never read and no read is paid for.
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLET;
  const std::int64_t added = system.epoll_ctl(epoll_owner.get(), EPOLL_CTL_ADD, event_owner.get(), &wanted);
  if (added < 0) {
    return fail_system("watch", "an event descriptor", added);
  }
  return std::make_unique<Reactor>(system, clock, stacks, std::move(epoll_owner), std::move(event_owner));
}

Reactor::Reactor(SystemCalls& system, Clock& clock, StackPool::Options stacks, Descriptor epoll,
                 Descriptor event)
    : system_(system),
      clock_(clock),
      stacks_(stacks),
      epoll_(std::move(epoll)),
      completions_(system, std::move(event)),
      events_(kEventsPerPoll),
      last_poll_(clock.now()) {}

Reactor::~Reactor() {
  unwind_unfinished();
}

void Reactor::run(std::move_only_function<void()> main_body) {
  BOOBLIK_CHECK(running_ == nullptr, "a reactor is not run from one of its fibers");
  bool main_ended = false;
  spawn("main", [&] {
    main_body();
    main_ended = true;
  });
  while (!main_ended) {
    run_ready();
    if (main_ended) {
      break;
    }
    if (!completions_.empty()) {
      completions_.run();
    }
    if (ready_.empty()) {
      poll(true);
    } else if (resumes_since_poll_ >= kResumesPerPoll ||
               (resumes_since_poll_ % kResumesPerClockReading == 0 &&
                clock_.now() - last_poll_ >= kPollInterval)) {
      poll(false);
    }
  }
}

// Those that are ready now; those that they make ready have their turn in the next round.
void Reactor::run_ready() {
  for (std::size_t left = std::min<std::size_t>(ready_.size(), kResumesPerPoll); left > 0; --left) {
    Task& task = *ready_.front();
    ready_.pop_front();
    ++resumes_since_poll_;
    task.state_ = Task::State::running;
    running_ = &task;
    task.fiber_.resume();
    running_ = nullptr;
    if (task.fiber_.ended()) {
      retire(task);
    }
  }
}

Duration Reactor::time_to_block() const {
  const Deadline next = timers_.next_due();
  if (next.is_never()) {
    return Duration(-1);
  }
  const Instant now = clock_.now();
  return next.passed(now) ? Duration::zero() : next.at() - now;
}

void Reactor::poll(bool may_block) {
  Duration timeout = may_block ? time_to_block() : Duration::zero();
  const bool blocks = timeout != Duration::zero() && completions_.prepare_to_block();
  if (!blocks) {
    timeout = Duration::zero();
  }
  const std::int64_t count = system_.epoll_wait(epoll_.get(), events_, timeout);
  if (blocks) {
    completions_.stop_blocking();
  }
  BOOBLIK_CHECK(count >= 0 || count == -EINTR, "epoll waits");
  for (std::int64_t index = 0; index < count; ++index) {
    dispatch(events_[static_cast<std::size_t>(index)]);
  }
  if (!completions_.empty()) {
    completions_.run();
  }
  last_poll_ = clock_.now();
  resumes_since_poll_ = 0;
  timers_.fire_due(last_poll_);
}

void Reactor::dispatch(const epoll_event& event) {
  if (event.data.u64 == 0) {
    return;  // the event descriptor of the completions
  }
  const auto slot = static_cast<std::size_t>((event.data.u64 & 0xFFFFFFFFU) - 1);
  const Watch& watch = watches_[slot];
  if (watch.handler != nullptr && watch.generation == event.data.u64 >> 32U) {
    watch.handler->on_ready(event.events);
  }
}

std::vector<std::string> Reactor::unfinished() const {
  std::vector<std::string> names;
  for (const auto& task : tasks_) {
    if (task != nullptr) {
      names.push_back(task->name_);
    }
  }
  return names;
}

void Reactor::unwind_unfinished() {
  for (std::size_t slot = 0; slot < tasks_.size(); ++slot) {
    if (Task* task = tasks_[slot].get(); task != nullptr) {
      timers_.disarm(*task);
      running_ = task;
      task->fiber_.unwind();
      running_ = nullptr;
      retire(*task);
    }
  }
  // Destructors may have woken others; nobody is left to run.
  ready_.clear();
  BOOBLIK_CHECK(unfinished().empty(), "a destructor does not spawn a fiber while fibers are unwound");
}

FiberId Reactor::spawn(std::string name, std::move_only_function<void()> body) {
  if (free_slots_.empty()) {
    BOOBLIK_CHECK(tasks_.size() < kSlotMask, "there are fewer fibers than slots");
    free_slots_.push_back(tasks_.size());
    tasks_.emplace_back();
    generations_.push_back(0);
  }
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  const FiberId id{(++generations_[slot] << kSlotBits) | slot};
  tasks_[slot] = std::make_unique<Task>(*this, id, std::move(name), std::move(body));
  ready_.push_back(tasks_[slot].get());
  return id;
}

void Reactor::retire(Task& task) {
  const auto slot = static_cast<std::size_t>(task.id_.value & kSlotMask);
  tasks_[slot].reset();
  free_slots_.push_back(slot);
}

FiberId Reactor::current() const {
  BOOBLIK_CHECK(running_ != nullptr, "only a fiber asks for the current fiber");
  return running_->id_;
}

void Reactor::yield() {
  BOOBLIK_CHECK(running_ != nullptr, "only a fiber yields");
  Task& self = *running_;
  make_ready(self);
  self.fiber_.suspend();
}

Wake Reactor::park(Deadline deadline) {
  BOOBLIK_CHECK(running_ != nullptr, "only a fiber parks");
  Task& self = *running_;
  if (std::exchange(self.permit_, false)) {
    return Wake::unparked;
  }
  if (deadline == Deadline::immediately()) {
    return Wake::deadline;
  }
  if (!deadline.is_never()) {
    timers_.arm(self, deadline);
  }
  self.state_ = Task::State::parked;
  self.fiber_.suspend();
  return self.wake_;
}

void Reactor::unpark(FiberId fiber) {
  Task* task = find(fiber);
  if (task == nullptr) {
    return;
  }
  if (task->state_ != Task::State::parked) {
    task->permit_ = true;
    return;
  }
  timers_.disarm(*task);
  task->wake_ = Wake::unparked;
  make_ready(*task);
}

void Reactor::make_ready(Task& task) {
  task.state_ = Task::State::ready;
  ready_.push_back(&task);
}

Reactor::Task* Reactor::find(FiberId fiber) const {
  const auto slot = static_cast<std::size_t>(fiber.value & kSlotMask);
  if (slot >= tasks_.size() || tasks_[slot] == nullptr || tasks_[slot]->id_ != fiber) {
    return nullptr;
  }
  return tasks_[slot].get();
}

Result<WatchId> Reactor::watch(int descriptor, ReadinessHandler& handler) {
  if (free_watches_.empty()) {
    free_watches_.push_back(watches_.size());
    watches_.emplace_back();
  }
  const std::size_t slot = free_watches_.back();
  Watch& entry = watches_[slot];
  const WatchId id{(std::uint64_t{entry.generation} << 32U) | (slot + 1)};
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  wanted.data.u64 = id.value;
  const std::int64_t added = system_.epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &wanted);
  if (added < 0) {
    return fail_system("watch", "a descriptor", added);
  }
  free_watches_.pop_back();
  entry.handler = &handler;
  return id;
}

void Reactor::unwatch(WatchId watch) {
  if (watch.value == 0) {
    return;
  }
  const auto slot = static_cast<std::size_t>((watch.value & 0xFFFFFFFFU) - 1);
  Watch& entry = watches_[slot];
  BOOBLIK_CHECK(entry.generation == watch.value >> 32U, "a watch ends once");
  entry.handler = nullptr;
  ++entry.generation;
  free_watches_.push_back(slot);
}

}  // namespace booblik::env
