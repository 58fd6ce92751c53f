// One connection: a reader fiber and a responder fiber around a queue of answers.
#pragma once

#include <memory>

#include "broker/session_state.h"

namespace booblik::broker {

class Session {
 public:
  Session(Context& context, std::unique_ptr<env::Connection> connection);
  // run() must have returned, or never been called.
  ~Session();

  // Serves the connection until it ends. Called once, by the session's own fiber; parks.
  void run();

  // Takes no more requests, lets a held FETCH go with an empty success, answers what was taken, and ends.
  // Does not park.
  void shut_down();

  // Ends at once.
  void abort();

 private:
  // How long the peer may take to notice the end of its answers, before what it still sends is answered by a
  // reset.
  static constexpr Duration kLinger = std::chrono::seconds(2);
  static constexpr Duration kLingerAtShutdown = std::chrono::milliseconds(250);

  void respond();

  SessionState state_;
};

}  // namespace booblik::broker
