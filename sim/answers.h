// The oracle of single answers: what was asked, what was known then, and whether the answer can be right.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload.h"
#include "wire/protocol.h"
#include "wire/response.h"

namespace booblik::sim {

struct Question {
  enum class Kind { produce, fetch, metadata };

  Kind kind = Kind::metadata;
  std::int32_t correlation_id = 0;
  std::size_t partition = 0;
  wire::WireError refusal = wire::WireError::none;  // the answer that is due, if it has to be refused
  // PRODUCE
  wire::AckPolicy acks = wire::AckPolicy::written;
  AttemptNumber first = 0;
  std::int64_t records = 0;
  // FETCH
  std::int64_t offset = 0;
  std::int32_t max_bytes = 0;
  std::int64_t wait_millis = 0;
  std::int32_t min_bytes = 0;

  std::uint64_t epoch = 0;         // of the model, when the connection was made
  std::vector<std::int64_t> ends;  // known when it was sent, by partition
  std::vector<std::int64_t> starts;
  Instant sent;
  Instant in_turn;               // sent, and the answers before it received
  std::int64_t burst_bytes = 0;  // of all the requests that were sent with it

  [[nodiscard]] bool is_answered() const { return kind != Kind::produce || acks != wire::AckPolicy::none; }
};

// A question of now; `kind` and what belongs to it is still to be filled in.
[[nodiscard]] Question new_question(const Workload& workload, std::int32_t correlation_id,
                                    std::size_t partition);

struct Answer {
  bool out_of_range = false;
  std::size_t payload_bytes = 0;  // of a FETCH
  bool met_damage = false;        // of a FETCH: what follows its last sound record is none
  std::int64_t next_offset = 0;   // of a FETCH: behind the last whole record
  std::int64_t end = 0;           // of a FETCH: the high watermark; of a PRODUCE: behind its last record
};

// Tells the model what `frame` says, or that it cannot be the answer. Whatever is wrong is a violation of the
// model.
Answer check_answer(Workload& workload, const Question& question, Bytes frame);

}  // namespace booblik::sim
