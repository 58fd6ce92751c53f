// A connection for threads in front of client::Connection, which is for fibers. User threads encode requests
// and queue them under a lock; one fiber sends them, another receives the answers and hands each to whoever
// asked, on the reactor's own stack.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "client/connection.h"
#include "env/sync.h"
#include "library/translate.h"

namespace booblik::library {

class Pipeline {
 public:
  // What came for one request: the whole answer, or why there is none. Called exactly once.
  struct Answer {
    wire::WireError error = wire::WireError::none;
    std::vector<std::byte> frame;  // behind the length field
    std::optional<Failure> failure;
  };
  using Done = std::move_only_function<void(Answer)>;

  [[nodiscard]] static Outcome<std::unique_ptr<Pipeline>> open(std::shared_ptr<ClientState> client);

  [[nodiscard]] ReactorThread& thread() const { return *client_->thread; }

  // Takes a whole frame over, whose correlation id is set here. `answered` is false for ackPolicy NONE: done
  // gets an empty answer once it is sent. `hold` is how long the broker may hold the request. Waits while too
  // many are outstanding. From any thread.
  void submit(std::vector<std::byte> frame, bool answered, Duration hold, Done done);

  // On a fiber of the reactor: breaks the connection and fails what has no answer. Parks.
  void end();

 private:
  struct Request {
    std::vector<std::byte> frame;
    bool answered = true;
    Duration hold{0};
    Done done;
    std::int32_t id = 0;
    Deadline deadline = Deadline::never();
  };
  struct Completed {
    Done done;
    Answer answer;
  };

  explicit Pipeline(std::shared_ptr<ClientState> client);

  void start();
  void run_sender();
  void run_receiver();
  [[nodiscard]] bool next(Request& request);
  void transmit(Request request);
  void complete(Done done, Answer answer);
  void fail_all(const Failure& failure);
  void tell();

  std::shared_ptr<ClientState> client_;

  // Shared by the threads, under the lock.
  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<Request> queue_;
  std::size_t outstanding_ = 0;  // queued, sent, or answered and not told yet
  bool sender_waits_ = false;
  std::optional<Failure> ended_;

  // The reactor's alone.
  std::unique_ptr<client::Connection> connection_;
  std::deque<Request> in_flight_;
  std::deque<Completed> completed_;
  bool telling_ = false;
  bool stopping_ = false;
  std::unique_ptr<env::Event> work_;
  std::unique_ptr<env::Event> answers_;
  std::unique_ptr<env::Event> told_;
  std::unique_ptr<env::WaitGroup> fibers_;
};

}  // namespace booblik::library
