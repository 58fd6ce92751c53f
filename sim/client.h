// A client of the workload: bursts of pipelined requests, answers taken in order and checked, now and then
// bad manners.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/random.h"
#include "sim/answers.h"
#include "sim/offence.h"
#include "sim/raw_client.h"
#include "sim/workload.h"

namespace booblik::sim {

enum class Role { producer, consumer, poller };

class Client {
 public:
  Client(Workload& workload, Role role, std::uint64_t number);

  // Until the load is over.
  void run();

 private:
  // One connection's life; returns when it is no good any more.
  void use_connection();
  // False when the connection is done for.
  [[nodiscard]] bool burst();
  // `may_be_cut`: the client has given the broker reason to.
  [[nodiscard]] bool take_answers(std::vector<Question>& questions, Deadline deadline, bool may_be_cut);
  void add_question(std::vector<Question>& questions, std::vector<std::byte>& bytes);
  void add_produce(Question& question, std::vector<std::byte>& bytes);
  void add_fetch(Question& question, std::vector<std::byte>& bytes);
  static void raise_ends(std::vector<Question>& questions, const Question& after, std::int64_t end);
  void step_over_damage(const Question& question, const Error& error);
  void pause(std::int64_t mean_millis);

  Workload& workload_;
  env::Environment& environment_;
  Role role_;
  env::Random random_;
  env::Random breaks_rules_;
  env::Random offends_;
  RawClient connection_;
  std::uint64_t connection_number_ = 0;
  std::uint64_t epoch_ = 0;
  std::int32_t next_correlation_id_ = 1;
  std::vector<std::int64_t> positions_;  // of a consumer that follows
};

}  // namespace booblik::sim
