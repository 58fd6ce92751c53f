#include "library/pipeline.h"

#include <utility>

namespace booblik::library {
namespace {

constexpr std::size_t kOutstandingMax = 1024;
// Behind frameLength, apiKey and apiVersion.
constexpr std::size_t kCorrelationIdAt = 8;

}  // namespace

Pipeline::Pipeline(std::shared_ptr<ClientState> client) : client_(std::move(client)) {
  env::Scheduler& scheduler = thread().roles().scheduler;
  work_ = std::make_unique<env::Event>(scheduler);
  answers_ = std::make_unique<env::Event>(scheduler);
  told_ = std::make_unique<env::Event>(scheduler);
  fibers_ = std::make_unique<env::WaitGroup>(scheduler);
}

Outcome<std::unique_ptr<Pipeline>> Pipeline::open(std::shared_ptr<ClientState> client) {
  ReactorThread& thread = *client->thread;
  if (thread.is_current()) {
    return called_from_callback("Connection::open");
  }
  std::unique_ptr<Pipeline> pipeline(new Pipeline(std::move(client)));
  const auto opened = thread.call("open connection", [&]() -> Outcome<void> {
    const client::Roles roles = thread.roles();
    const ClientState& state = *pipeline->client_;
    auto connection = client::Connection::open(roles.network, state.broker,
                                               Deadline(roles.clock.now() + state.connect_timeout));
    if (!connection) {
      return to_public(connection.error());
    }
    pipeline->connection_ = std::move(*connection);
    pipeline->start();
    return {};
  });
  if (!opened) {
    return opened.error();
  }
  return pipeline;
}

void Pipeline::start() {
  fibers_->add();
  thread().roles().scheduler.spawn("connection sender", [this] { run_sender(); });
  fibers_->add();
  thread().roles().scheduler.spawn("connection receiver", [this] { run_receiver(); });
}

void Pipeline::submit(std::vector<std::byte> frame, bool answered, Duration hold, Done done) {
  const bool may_wait = !thread().is_current();
  std::optional<Failure> refused;
  bool wake = false;
  {
    std::unique_lock lock(mutex_);
    if (may_wait) {
      room_.wait(lock, [this] { return ended_ || outstanding_ < kOutstandingMax; });
    }
    if (ended_) {
      refused = ended_;
    } else if (outstanding_ >= kOutstandingMax) {
      refused = failure(FailureKind::buffer_full, "too many requests have no answer yet");
    } else {
      queue_.push_back(Request{std::move(frame), answered, hold, std::move(done)});
      ++outstanding_;
      wake = std::exchange(sender_waits_, false);
    }
  }
  if (refused) {
    done(Answer{wire::WireError::none, {}, std::move(refused)});
  } else if (wake) {
    thread().post([this] { work_->notify_all(); });
  }
}

// False when there is nothing to send now: the next submit then wakes the sender.
bool Pipeline::next(Request& request) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) {
    sender_waits_ = true;
    return false;
  }
  request = std::move(queue_.front());
  queue_.pop_front();
  return true;
}

void Pipeline::run_sender() {
  while (!stopping_) {
    if (Request request; next(request)) {
      transmit(std::move(request));
    } else {
      work_->wait(Deadline::never());
    }
  }
  fibers_->done();
}

void Pipeline::transmit(Request request) {
  request.id = connection_->next_correlation_id();
  store_big_endian(request.frame.data() + kCorrelationIdAt, request.id);
  request.deadline = Deadline(thread().roles().clock.now() + client_->request_timeout + request.hold);
  const std::vector<std::byte> frame = std::move(request.frame);
  const Deadline deadline = request.deadline;
  if (!request.answered) {
    const auto sent = connection_->send(frame, std::nullopt, deadline);
    Answer answer;
    if (!sent) {
      answer.failure = to_public(sent.error());
      answer.failure->maybe_done = true;
    }
    complete(std::move(request.done), std::move(answer));
    if (!sent) {
      connection_->abort();
      fail_all(to_public(sent.error()));
    }
    return;
  }
  const std::int32_t id = request.id;
  in_flight_.push_back(std::move(request));
  answers_->notify_all();
  if (const auto sent = connection_->send(frame, id, deadline); !sent) {
    connection_->abort();
    fail_all(to_public(sent.error()));
  }
}

void Pipeline::run_receiver() {
  while (!stopping_) {
    if (in_flight_.empty()) {
      answers_->wait(Deadline::never());
      continue;
    }
    auto answer = connection_->receive(in_flight_.front().deadline);
    if (!answer) {
      connection_->abort();  // after a timeout too: later answers could not be told apart
      fail_all(to_public(answer.error()));
      continue;
    }
    if (in_flight_.empty()) {
      continue;  // the sender has failed it meanwhile
    }
    Done done = std::move(in_flight_.front().done);
    in_flight_.pop_front();
    complete(std::move(done), Answer{answer->error, {answer->frame.begin(), answer->frame.end()}, {}});
  }
  fibers_->done();
}

// Nothing more is sent or taken over. The first cause stays.
void Pipeline::fail_all(const Failure& failure) {
  std::deque<Request> queued;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      ended_ = failure;
    }
    queued.swap(queue_);
    room_.notify_all();
  }
  Answer sent{wire::WireError::none, {}, failure};
  sent.failure->maybe_done = true;
  for (Request& request : std::exchange(in_flight_, {})) {
    complete(std::move(request.done), sent);
  }
  for (Request& request : queued) {
    complete(std::move(request.done), Answer{wire::WireError::none, {}, failure});
  }
}

void Pipeline::complete(Done done, Answer answer) {
  completed_.push_back({std::move(done), std::move(answer)});
  if (!std::exchange(telling_, true)) {
    thread().post([this] { tell(); });
  }
}

void Pipeline::tell() {
  while (!completed_.empty()) {
    Completed next = std::move(completed_.front());
    completed_.pop_front();
    {
      const std::lock_guard lock(mutex_);
      --outstanding_;
      room_.notify_one();
    }
    next.done(std::move(next.answer));
  }
  telling_ = false;
  told_->notify_all();
}

void Pipeline::end() {
  stopping_ = true;
  connection_->abort();
  work_->notify_all();
  answers_->notify_all();
  (void)fibers_->wait(Deadline::never());
  fail_all(failure(FailureKind::closed, "the connection is closed"));
  while (telling_) {
    told_->wait(Deadline::never());
  }
  connection_.reset();
}

}  // namespace booblik::library
