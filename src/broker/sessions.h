// The open connections of one listener.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "broker/context.h"
#include "broker/session.h"
#include "env/network.h"
#include "env/sync.h"

namespace booblik::broker {

class Sessions {
 public:
  explicit Sessions(Context& context) : context_(context), running_(context.scheduler) {}

  // Accepts until the listener is closed. Parks.
  void accept_from(env::Listener& listener);

  // Ends all sessions in good order, at `deadline` by force. Nothing may be accepted any more. Parks.
  void shut_down(Deadline deadline);

 private:
  void start(std::unique_ptr<env::Connection> connection);

  Context& context_;
  env::WaitGroup running_;
  std::int64_t next_number_ = 0;
  std::map<std::int64_t, std::unique_ptr<Session>> sessions_;  // by arrival
};

}  // namespace booblik::broker
