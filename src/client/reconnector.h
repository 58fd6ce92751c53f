// Gets the next connection after a loss: attempts with growing pauses, until one works or it is time to give
// up. Belongs to one producer or consumer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "client/reconnect.h"
#include "client/topic_connection.h"
#include "env/sync.h"

namespace booblik::client {

class Reconnector {
 public:
  struct Target {
    Address broker;
    std::string topic;
    Duration attempt_timeout{0};  // of one attempt, the question for the topic included
  };

  Reconnector(Roles roles, Target target, ReconnectOptions options, OnConnection on_connection);

  // A connection ended by `failure`. False: there will be no other (it is switched off, or the failure is one
  // that a new connection does not mend).
  [[nodiscard]] bool lost(const Failure& failure);

  // After lost(): a new connection, or nothing at `deadline` (call again to go on; an attempt that has begun
  // is seen through, so this may be attempt_timeout late). Any failure is final: `closed` after cancel,
  // otherwise the last attempt's, saying that it gave up. Parks.
  [[nodiscard]] Outcome<std::optional<TopicConnection>> connect(Deadline deadline);

  // The broker has answered: the next loss starts with an attempt at once, and the time for giving up anew.
  void progressed();

  // Makes connect return `closed`, at the latest when the system call for a connection has returned.
  void cancel();

  // How many connections it has made.
  [[nodiscard]] std::uint64_t connections() const { return connections_; }

 private:
  [[nodiscard]] Outcome<TopicConnection> attempt();
  [[nodiscard]] bool worth_another(const Failure& failure) const;
  [[nodiscard]] Duration draw_pause();
  void note(const Failure& failure);
  [[nodiscard]] std::unexpected<Failure> give_up(Instant now);
  void tell(ConnectionState state);

  Roles roles_;
  Target target_;
  ReconnectOptions options_;
  OnConnection on_connection_;
  env::Event cancelled_event_;
  bool cancelled_ = false;
  Connection* candidate_ = nullptr;  // asked for the topic just now
  std::optional<Failure> last_failure_;
  std::uint64_t failures_ = 0;  // since the last progress
  Duration pause_{0};           // before the next attempt
  Instant next_attempt_;
  std::optional<Instant> trying_since_;  // of the first connect since the last progress
  std::uint64_t connections_ = 0;
};

}  // namespace booblik::client
