#include "sim/offence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "sim/random_stream.h"
#include "wire/protocol.h"

namespace booblik::sim {
namespace {

constexpr std::int64_t kPartMax = 16 * 1024;

void add_length(std::int32_t length, std::vector<std::byte>& bytes) {
  bytes.resize(bytes.size() + sizeof length);
  store_big_endian(bytes.data() + bytes.size() - sizeof length, length);
}

std::int64_t millis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

Offence draw_offence(const Workload& workload, env::Random& random) {
  if (!happens(random, static_cast<Odds>(workload.plan.offence_odds))) {
    return Offence::none;
  }
  constexpr std::array kOffences{Offence::bad_length, Offence::slow_frame, Offence::takes_nothing};
  return kOffences.at(random.below(kOffences.size()));
}

void add_offence(Offence offence, const Workload& workload, env::Random& random,
                 std::vector<std::byte>& bytes) {
  if (offence == Offence::bad_length) {
    workload.world.probes().hit("sim.client.sent_bad_length");
    constexpr std::array kLengths{0, -1, wire::kMaxFrameBytes + 1, std::numeric_limits<std::int32_t>::min(),
                                  std::numeric_limits<std::int32_t>::max()};
    add_length(kLengths.at(random.below(kLengths.size())), bytes);
  } else if (offence == Offence::slow_frame) {
    workload.world.probes().hit("sim.client.stopped_in_a_frame");
    // A frame that the memory for requests can hold.
    const std::int64_t most = std::min(kPartMax, workload.plan.request_memory_bytes / 2);
    const std::int64_t length = between(random, 8, most);
    add_length(static_cast<std::int32_t>(length), bytes);
    bytes.resize(bytes.size() + random.below(static_cast<std::uint64_t>(length)));
  }
}

void take_nothing(Workload& workload, env::Random& random) {
  workload.world.probes().hit("sim.client.took_nothing");
  workload.world.scheduler().sleep(
      std::chrono::milliseconds(workload.plan.send_timeout_millis + between(random, 100, 2'000)),
      "taking nothing");
}

void check_cut(Offence offence, Workload& workload, RawClient& connection, const Question& last) {
  const Plan& plan = workload.plan;
  const bool is_slow = offence == Offence::slow_frame;
  const Instant asked = workload.now();
  const Duration timeout =
      is_slow ? Duration(std::chrono::milliseconds(plan.frame_timeout_millis)) : Duration(0);
  const Duration within = timeout + workload.time_for(kPartMax + last.burst_bytes);
  const auto frame = connection.receive_frame(Deadline(asked + within + std::chrono::seconds(1)));
  if (frame) {
    return workload.model.violate("a frame that cannot be, or has not come whole, was answered");
  }
  if (!workload.is_calm_since(last.epoch) || !workload.has_memory()) {
    return;
  }
  workload.model.count("offender cut");
  const Duration took = workload.now() - std::max(asked, workload.serving_since);
  if (took > within) {
    workload.model.violate(
        fmt::format("a peer that {} was not cut within {} ms",
                    is_slow ? "stopped in a frame" : "sent a frame of an impossible length", millis(took)));
  } else if (is_slow && workload.now() - last.sent < timeout) {
    workload.model.violate(fmt::format("a peer that may take {} ms for a frame was cut after {} ms",
                                       plan.frame_timeout_millis, millis(workload.now() - last.sent)));
  }
}

}  // namespace booblik::sim
