#include "library/reactor_thread.h"

#include <utility>

#include "env/posix/environment.h"
#include "env/posix/thread.h"
#include "env/sync.h"

namespace booblik::library {

class ReactorThread::Loop {
 public:
  static Result<std::unique_ptr<Loop>> create() {
    auto loop = std::make_unique<Loop>();
    auto environment = env::PosixEnvironment::create({.owns_process = false}, loop->system_);
    if (!environment) {
      return std::unexpected(std::move(environment.error()));
    }
    loop->environment_ = std::move(*environment);
    env::Scheduler& scheduler = loop->environment_->reactor();
    loop->stop_ = std::make_unique<env::Event>(scheduler);
    loop->fibers_ = std::make_unique<env::WaitGroup>(scheduler);
    return loop;
  }

  void run() {
    (void)environment_->run([this] {
      while (!stopping_) {
        stop_->wait(Deadline::never());
      }
      (void)fibers_->wait(Deadline::never());
    });
  }

  // From any thread.
  void post(std::move_only_function<void()> step) {
    environment_->reactor().completions().post(std::move(step));
  }

  // The rest on the reactor.
  void spawn(std::string name, std::move_only_function<void()> body) {
    fibers_->add();
    environment_->reactor().spawn(std::move(name), [this, body = std::move(body)]() mutable {
      body();
      body = nullptr;  // what it holds goes before it counts as ended
      fibers_->done();
    });
  }

  void stop() {
    stopping_ = true;
    stop_->notify_all();
  }

  [[nodiscard]] env::Environment roles() const { return environment_->roles(); }

 private:
  env::SystemCalls system_;
  std::unique_ptr<env::PosixEnvironment> environment_;
  std::unique_ptr<env::Event> stop_;
  std::unique_ptr<env::WaitGroup> fibers_;
  bool stopping_ = false;
};

Result<std::shared_ptr<ReactorThread>> ReactorThread::start() {
  auto loop = Loop::create();
  if (!loop) {
    return std::unexpected(std::move(loop.error()));
  }
  std::shared_ptr<ReactorThread> self(new ReactorThread(loop->get()));
  auto thread = env::start_thread([loop = std::move(*loop)] { loop->run(); });
  if (!thread) {
    self->loop_ = nullptr;  // it went with the thread's body
    return std::unexpected(std::move(thread.error()));
  }
  self->thread_ = std::move(*thread);
  return self;
}

ReactorThread::~ReactorThread() {
  if (loop_ == nullptr) {
    return;
  }
  const bool here = is_current();
  loop_->post([loop = loop_] { loop->stop(); });
  if (here) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void ReactorThread::post(std::move_only_function<void()> step) {
  loop_->post(std::move(step));
}

void ReactorThread::spawn(std::string name, std::move_only_function<void()> body) {
  loop_->post([loop = loop_, name = std::move(name), body = std::move(body)]() mutable {
    loop->spawn(std::move(name), std::move(body));
  });
}

void ReactorThread::run_posted() {
  env::Scheduler& scheduler = loop_->roles().scheduler;
  bool done = false;
  loop_->post([&scheduler, &done, self = scheduler.current()] {
    done = true;
    scheduler.unpark(self);
  });
  while (!done) {
    scheduler.park(Deadline::never());
  }
}

client::Roles ReactorThread::roles() const {
  const env::Environment all = loop_->roles();
  return {all.scheduler, all.clock, all.network, all.random};
}

env::Disk& ReactorThread::disk() const {
  return loop_->roles().disk;
}

}  // namespace booblik::library
