// What a client does that the broker has to cut it for, and what the broker must do then. The rules are those
// of docs/protocol.md (a frame of an impossible length is not answered) and of the broker's time limits.
#pragma once

#include <cstddef>
#include <vector>

#include "env/random.h"
#include "sim/answers.h"
#include "sim/raw_client.h"
#include "sim/workload.h"

namespace booblik::sim {

enum class Offence { none, bad_length, slow_frame, takes_nothing };

// Once in Plan::offence_odds, otherwise none.
[[nodiscard]] Offence draw_offence(const Workload& workload, env::Random& random);

// What comes behind the requests of the burst: a length that cannot be, or a part of a frame.
void add_offence(Offence offence, const Workload& workload, env::Random& random,
                 std::vector<std::byte>& bytes);

// For a reader that takes nothing: sleeps for longer than the broker waits for it. Parks.
void take_nothing(Workload& workload, env::Random& random);

// Behind the answers to the burst, of which the last came or was not due: nothing more comes, and the
// connection ends. `last` is the last request of the burst. Parks.
void check_cut(Offence offence, Workload& workload, RawClient& connection, const Question& last);

}  // namespace booblik::sim
