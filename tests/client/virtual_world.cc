#include "virtual_world.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"

namespace booblik::client {

VirtualScheduler::~VirtualScheduler() {
  for (auto& [id, task] : tasks_) {
    running_ = id;
    task.fiber->unwind();
  }
}

bool VirtualScheduler::run(std::move_only_function<void()> body) {
  bool finished = false;
  spawn("main", [&finished, main_body = std::move(body)]() mutable {
    main_body();
    finished = true;
  });
  while (!finished) {
    if (ready_.empty() && !advance_clock()) {
      return false;
    }
    if (ready_.empty()) {
      continue;
    }
    running_ = ready_.front();
    ready_.pop_front();
    const auto task = tasks_.find(running_);
    task->second.fiber->resume();
    if (task->second.fiber->ended()) {
      tasks_.erase(task);
    }
  }
  return true;
}

bool VirtualScheduler::advance_clock() {
  Deadline next = Deadline::never();
  for (const auto& [id, task] : tasks_) {
    if (task.parked) {
      next = std::min(next, task.deadline);
    }
  }
  if (next.is_never()) {
    return false;
  }
  now_ = std::max(now_, next.at());
  for (auto& [id, task] : tasks_) {
    if (task.parked && task.deadline.passed(now_)) {
      task.parked = false;
      ready_.push_back(id);
    }
  }
  return true;
}

env::FiberId VirtualScheduler::spawn(std::string, std::move_only_function<void()> body) {
  const std::uint64_t id = ++last_id_;
  tasks_[id].fiber = std::make_unique<env::Fiber>(stacks_, std::move(body));
  ready_.push_back(id);
  return env::FiberId{id};
}

void VirtualScheduler::yield() {
  ready_.push_back(running_);
  tasks_.at(running_).fiber->suspend();
}

env::Wake VirtualScheduler::park(Deadline deadline) {
  Task& task = tasks_.at(running_);
  if (std::exchange(task.permit, false)) {
    return env::Wake::unparked;
  }
  if (task.fiber->unwinding() || deadline.passed(now_)) {
    return env::Wake::deadline;
  }
  task.parked = true;
  task.woken = false;
  task.deadline = deadline;
  task.fiber->suspend();
  return task.woken ? env::Wake::unparked : env::Wake::deadline;
}

void VirtualScheduler::unpark(env::FiberId fiber) {
  const auto task = tasks_.find(fiber.value);
  if (task == tasks_.end()) {
    return;
  }
  if (!task->second.parked) {
    task->second.permit = true;
    return;
  }
  task->second.parked = false;
  task->second.woken = true;
  ready_.push_back(fiber.value);
}

namespace {

// Both directions of one stream; side 0 connected, side 1 accepted.
struct Link {
  Link(VirtualScheduler& scheduler, StreamLimits link_limits) : limits(link_limits), changed(scheduler) {}

  void reset() {
    is_reset = true;
    changed.notify_all();
  }

  StreamLimits limits;
  env::Event changed;
  std::deque<std::byte> bytes[2];  // sent by that side
  bool finished[2] = {false, false};
  bool is_reset = false;
  std::size_t moved = 0;
};

class Stream final : public env::Connection {
 public:
  Stream(std::shared_ptr<Link> link, int side) : link_(std::move(link)), side_(side) {}
  ~Stream() override { Stream::shutdown_send(); }

  Result<void> wait_readable(Deadline deadline) override {
    while (true) {
      if (link_->is_reset) {
        return fail(ErrorCode::reset, "the stream was reset");
      }
      if (!incoming().empty() || link_->finished[1 - side_]) {
        return {};
      }
      if (link_->changed.wait(deadline) == env::Wake::deadline) {
        return fail(ErrorCode::timed_out, "nothing came in time");
      }
    }
  }

  Result<std::size_t> receive(MutableBytes buffer, Deadline deadline) override {
    BOOBLIK_CHECK(!buffer.empty(), "a receive has room for a byte");
    if (auto readable = wait_readable(deadline); !readable) {
      return std::unexpected(readable.error());
    }
    const std::size_t count = std::min({buffer.size(), incoming().size(), link_->limits.piece_bytes});
    std::copy_n(incoming().begin(), count, buffer.begin());
    incoming().erase(incoming().begin(), incoming().begin() + static_cast<std::ptrdiff_t>(count));
    link_->changed.notify_all();
    return count;
  }

  Result<std::size_t> send(std::span<const Bytes> parts, Deadline deadline) override {
    const Bytes part = parts.front();
    auto& outgoing = link_->bytes[side_];
    while (!link_->is_reset && outgoing.size() >= link_->limits.buffer_bytes) {
      if (link_->changed.wait(deadline) == env::Wake::deadline) {
        return fail(ErrorCode::timed_out, "the peer does not read");
      }
    }
    if (link_->is_reset) {
      return fail(ErrorCode::reset, "the stream was reset");
    }
    const std::size_t room = link_->limits.buffer_bytes - outgoing.size();
    std::size_t count = std::min({part.size(), room, link_->limits.piece_bytes});
    if (link_->moved + count >= link_->limits.cut_after_bytes) {
      count = link_->limits.cut_after_bytes - link_->moved;
      link_->reset();
      if (count == 0) {
        return fail(ErrorCode::reset, "the stream was reset");
      }
    }
    link_->moved += count;
    outgoing.insert(outgoing.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
    link_->changed.notify_all();
    return count;
  }

  Result<std::int64_t> send_file(env::File&, Position, std::int64_t, Deadline) override {
    return fail(ErrorCode::invalid, "there are no files here");
  }

  void shutdown_send() override {
    link_->finished[side_] = true;
    link_->changed.notify_all();
  }
  void stop_receiving() override { BOOBLIK_CHECK(false, "no client stops receiving"); }
  void abort() override { link_->reset(); }
  void on_reset(std::move_only_function<void()>) override { BOOBLIK_CHECK(false, "no client asks for this"); }
  [[nodiscard]] const std::string& peer() const override { return peer_; }

 private:
  std::deque<std::byte>& incoming() { return link_->bytes[1 - side_]; }

  std::shared_ptr<Link> link_;
  int side_;
  std::string peer_ = "virtual:1";
};

}  // namespace

class VirtualNetwork::Listening final : public env::Listener {
 public:
  Listening(VirtualNetwork& network, std::uint16_t port)
      : network_(network),
        port_(port),
        address_("virtual:" + std::to_string(port)),
        arrived_(network.scheduler_) {
    network_.listening_[port_] = this;
  }
  ~Listening() override { Listening::close(); }

  Result<std::unique_ptr<env::Connection>> accept(Deadline deadline) override {
    while (waiting_.empty()) {
      if (closed_) {
        return fail(ErrorCode::closed, "closed");
      }
      if (arrived_.wait(deadline) == env::Wake::deadline) {
        return fail(ErrorCode::timed_out, "nobody came");
      }
    }
    auto connection = std::move(waiting_.front());
    waiting_.pop_front();
    return connection;
  }

  void close() override {
    closed_ = true;
    network_.listening_.erase(port_);
    arrived_.notify_all();
  }
  [[nodiscard]] const std::string& address() const override { return address_; }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

  void add(std::unique_ptr<env::Connection> connection) {
    waiting_.push_back(std::move(connection));
    arrived_.notify_all();
  }

 private:
  VirtualNetwork& network_;
  std::uint16_t port_;
  std::string address_;
  env::Event arrived_;
  std::deque<std::unique_ptr<env::Connection>> waiting_;
  bool closed_ = false;
};

Result<std::unique_ptr<env::Listener>> VirtualNetwork::listen(const std::string&, std::uint16_t port) {
  return std::make_unique<Listening>(*this, port != 0 ? port : next_port_++);
}

Result<std::unique_ptr<env::Connection>> VirtualNetwork::connect(const std::string&, std::uint16_t port,
                                                                 Deadline) {
  const auto found = listening_.find(port);
  if (found == listening_.end()) {
    return fail(ErrorCode::unreachable, "nobody listens there");
  }
  const auto link = std::make_shared<Link>(scheduler_, limits);
  found->second->add(std::make_unique<Stream>(link, 1));
  return std::make_unique<Stream>(link, 0);
}

}  // namespace booblik::client
