// What the two fibers of a connection know of each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "broker/answers.h"
#include "broker/context.h"
#include "env/network.h"
#include "env/sync.h"

namespace booblik::broker {

// After so many requests taken, or answered, a connection gives the others their turn: a buffer may hold
// thousands of tiny ones, and hundreds of connections such buffers.
inline constexpr std::int64_t kRequestsPerTurn = 16;

struct SessionState {
  SessionState(Context& shared, std::unique_ptr<env::Connection> stream)
      : context(shared),
        connection(std::move(stream)),
        answers(shared.answer_budget),
        changed(shared.scheduler) {}

  Context& context;
  std::unique_ptr<env::Connection> connection;
  Answers answers;
  env::Event changed;  // notified whenever one of the things below, or `answers`, has changed

  bool pipeline_full = false;   // the reader waits until an answer has gone
  bool requests_done = false;   // no more answers will be added
  bool reader_done = false;     // the reader fiber no longer uses anything here
  bool responder_done = false;  // nor does the responder
  bool shutting_down = false;   // the broker stops: take no more requests, let held fetches go
  bool broken = false;          // nothing can be sent any more
  bool discarding = false;      // an answer could not be given: what still comes in is thrown away

  // No request that has not been taken yet will be.
  [[nodiscard]] bool closing() const { return shutting_down || broken || discarding; }

  // The stream is of no use any more; both fibers come to an end.
  void break_off() {
    broken = true;
    connection->abort();
    changed.notify_all();
  }

  // We are the ones who end this connection: says why, once, and counts it.
  void cut(std::string_view kind, std::string_view why);

 private:
  bool cut_reported_ = false;
};

}  // namespace booblik::broker
