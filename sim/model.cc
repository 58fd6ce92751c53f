#include "sim/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace booblik::sim {

void Model::violate(std::string text) {
  if (!violation_) {
    violation_ = std::move(text);
  }
}

AttemptNumber Model::send_batch(std::size_t partition, std::uint64_t connection,
                                const std::vector<std::int64_t>& payload_bytes) {
  const AttemptNumber first = attempts_.size();
  for (std::size_t index = 0; index < payload_bytes.size(); ++index) {
    attempts_.push_back({.partition = partition,
                         .connection = connection,
                         .life = life_,
                         .payload_bytes = payload_bytes[index],
                         .index_in_batch = static_cast<std::int64_t>(index),
                         .sent = now_});
  }
  return first;
}

AttemptNumber Model::send_later(std::size_t partition, std::int64_t payload_bytes) {
  const AttemptNumber number = send_batch(partition, 0, {payload_bytes});
  attempts_[number].in_transit = true;
  return number;
}

void Model::sent_over(AttemptNumber number, std::uint64_t connection, std::uint32_t life) {
  attempts_[number].connection = connection;
  attempts_[number].life = life;
  attempts_[number].in_transit = false;
}

void Model::refuse(AttemptNumber first, std::int64_t records) {
  for (std::int64_t index = 0; index < records; ++index) {
    Attempt& refused = attempts_[first + static_cast<AttemptNumber>(index)];
    refused.refused = true;
    if (refused.offset >= 0) {
      violate(fmt::format("a refused record was seen at offset {}", refused.offset));
    }
  }
}

namespace {

// Differs from byte to byte and from record to record.
std::byte payload_byte(AttemptNumber number, std::size_t index) {
  return static_cast<std::byte>((number * 31 + index * 7) & 0xFFU);
}

// Every fetched byte comes here, so there is no way out of the loop but its end: the compiler makes vectors
// of it.
bool is_payload_of(AttemptNumber number, Bytes payload) {
  std::byte difference{0};
  for (std::size_t index = sizeof number; index < payload.size(); ++index) {
    difference |= payload[index] ^ payload_byte(number, index);
  }
  return difference == std::byte{0};
}

}  // namespace

void Model::fill_payload(AttemptNumber number, MutableBytes out) {
  store_big_endian(out.data(), number);
  for (std::size_t index = sizeof number; index < out.size(); ++index) {
    out[index] = payload_byte(number, index);
  }
}

// Where recovery has ended the log in a life behind `life`: what was not in front of it then is gone for
// ever.
std::int64_t Model::lowest_end_since(const Partition& partition, std::uint32_t life) {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (auto at = partition.recovered_ends.rbegin(); at != partition.recovered_ends.rend() && at->first > life;
       ++at) {
    lowest = std::min(lowest, at->second);
  }
  return lowest;
}

// Why record `number` cannot be at `offset`; empty when it can.
std::string Model::misplacement(std::size_t partition, std::int64_t offset, AttemptNumber number) const {
  const Partition& here = partitions_[partition];
  const Attempt& learned = attempts_[number];
  const std::int64_t known = known_at(here, offset);
  if (learned.offset >= 0 && learned.offset != offset) {
    return fmt::format("was at offset {} before", learned.offset);
  }
  if (known != kUnknown && known != static_cast<std::int64_t>(number)) {
    return fmt::format("where record {} was before", known);
  }
  if (known == kUnknown && !learned.in_transit && offset >= lowest_end_since(here, learned.life)) {
    return fmt::format("of life {} came back in life {}: recovery had ended the log at {}", learned.life,
                       life_, lowest_end_since(here, learned.life));
  }
  // The records of a batch are neighbours.
  const std::int64_t before = learned.index_in_batch > 0 ? attempts_[number - 1].offset : -1;
  if (before >= 0 && before != offset - 1) {
    return fmt::format("is not behind its batch's record at offset {}", before);
  }
  const std::int64_t in_front =
      learned.index_in_batch > 0 && offset > 0 ? known_at(here, offset - 1) : kUnknown;
  if (in_front != kUnknown && in_front != static_cast<std::int64_t>(number) - 1) {
    return fmt::format("lies behind record {}, which is not of its batch", in_front);
  }
  return {};
}

void Model::learn(std::size_t partition, std::int64_t offset, AttemptNumber number, How how) {
  Partition& here = partitions_[partition];
  Attempt& learned = attempts_[number];
  const auto name = [&] {
    return fmt::format("partition {} offset {} ({}): record {}", partition, offset,
                       how == How::acked ? "acked" : "fetched", number);
  };
  if (learned.partition != partition) {
    return violate(fmt::format("{} was sent to partition {}", name(), learned.partition));
  }
  if (learned.refused) {
    return violate(fmt::format("{} was refused", name()));
  }
  if (how == How::fetched && known_at(here, offset) == kUnknown && rot(partition, offset) == Rot::misplaced) {
    return count("record that may be misplaced");
  }
  if (const std::string problem = misplacement(partition, offset, number); !problem.empty()) {
    if (rot(partition, offset) == Rot::misplaced) {
      return count("misplaced record");  // a record does not say its offset, so nobody can notice
    }
    return violate(fmt::format("{} {}", name(), problem));
  }
  if (static_cast<std::size_t>(offset) >= here.content.size()) {
    here.content.resize(static_cast<std::size_t>(offset) + 1, kUnknown);
    here.since.resize(here.content.size());
    here.vouched.resize(here.content.size(), 0);
  }
  std::int64_t& known = here.content[static_cast<std::size_t>(offset)];
  if (known == kUnknown) {
    here.since[static_cast<std::size_t>(offset)] = now_;
  }
  known = static_cast<std::int64_t>(number);
  if (offset < here.recovered_end) {
    here.vouched[static_cast<std::size_t>(offset)] = 1;  // recovery vouches for all that it finds
  }
  learned.offset = offset;
  here.end = std::max(here.end, offset + 1);
}

void Model::acked(AttemptNumber first, std::int64_t records, std::int64_t base, std::int64_t end,
                  bool forced) {
  const std::size_t partition = attempts_[first].partition;
  count("acked batch");
  if (base < 0 || end < base + records) {
    return violate(fmt::format("PRODUCE of {} records answered base {} end {}", records, base, end));
  }
  for (std::int64_t index = 0; index < records; ++index) {
    learn(partition, base + index, first + static_cast<AttemptNumber>(index), How::acked);
  }
  Partition& here = partitions_[partition];
  here.end = std::max(here.end, end);
  if (forced) {
    here.durable = std::max(here.durable, base + records);
    vouch_below(here, base + records);
  }
}

// A barrier covers all that was written before it.
void Model::vouch_below(Partition& partition, std::int64_t offset) {
  const auto end = std::min(static_cast<std::size_t>(offset), partition.content.size());
  const std::span<const std::int64_t> content(partition.content);
  const std::span<std::uint8_t> vouched(partition.vouched);
  for (std::size_t index = partition.all_vouched_below; index < end; ++index) {
    vouched[index] = content[index] != kUnknown ? std::uint8_t{1} : vouched[index];
  }
  while (partition.all_vouched_below < end && partition.vouched[partition.all_vouched_below] != 0) {
    ++partition.all_vouched_below;
  }
}

void Model::unreadable(std::size_t partition, std::int64_t offset) {
  Partition& here = partitions_[partition];
  count("hole");
  here.last_hole = std::max(here.last_hole, offset);
  const auto index = static_cast<std::size_t>(offset);
  if (may_have_rotted(partition, offset)) {
    return;
  }
  if (!holes_can_be_ || (index < here.content.size() && here.content[index] != kUnknown)) {
    violate(fmt::format("partition {}: offset {} cannot be read, though nobody took the power from it",
                        partition, offset));
  }
}

void Model::acked_by_the_dead(AttemptNumber first, std::int64_t records, std::int64_t base, bool forced) {
  Partition& here = partitions_[attempts_[first].partition];
  count("acked by the dead");
  for (std::int64_t index = 0; index < records; ++index) {
    Attempt& told = attempts_[first + static_cast<AttemptNumber>(index)];
    if (told.offset >= 0 && told.offset != base + index) {
      violate(fmt::format("record {} acked at offset {} was at {} before",
                          first + static_cast<AttemptNumber>(index), base + index, told.offset));
    }
    told.offset = base + index;
  }
  const bool recovered_since = here.recovered_life > attempts_[first].life;
  if (!forced || here.life_cut_by_rot > attempts_[first].life) {
    return;
  }
  here.durable = std::max(here.durable, base + records);
  here.end = std::max(here.end, here.durable);
  if (recovered_since && here.recovered_end < base + records) {
    violate(fmt::format("partition {}: records up to {} were FORCED, recovery ended the log at {}",
                        attempts_[first].partition, base + records, here.recovered_end));
  }
}

std::optional<Instant> Model::known_since(std::size_t partition, std::int64_t offset) const {
  const Partition& here = partitions_[partition];
  if (offset >= static_cast<std::int64_t>(here.content.size()) ||
      here.content[static_cast<std::size_t>(offset)] == kUnknown) {
    return std::nullopt;
  }
  return here.since[static_cast<std::size_t>(offset)];
}

void Model::check_whole(std::size_t partition) {
  const Partition& here = partitions_[partition];
  std::map<std::uint64_t, std::int64_t> last_by_connection;
  for (std::int64_t offset = here.start; offset < here.end; ++offset) {
    const std::int64_t number = known_at(here, offset);
    if (number == kUnknown && (holes_can_be_ || may_have_rotted(partition, offset))) {
      continue;
    }
    if (number == kUnknown) {
      return violate(fmt::format("partition {}: offset {} of {}..{} was never served", partition, offset,
                                 here.start, here.end));
    }
    count("final record");
    const auto [last, is_first] =
        last_by_connection.emplace(attempts_[static_cast<std::size_t>(number)].connection, number);
    if (!is_first && std::exchange(last->second, number) >= number) {
      return violate(
          fmt::format("partition {}: record {} at offset {} lies behind a later one of its connection",
                      partition, number, offset));
    }
  }
}

void Model::fetched(std::size_t partition, std::int64_t offset, Bytes payload) {
  count("fetched record");
  const AttemptNumber number =
      payload.size() >= kPayloadBytesMin ? load_big_endian<AttemptNumber>(payload.data()) : attempts_.size();
  if (number >= attempts_.size() ||
      attempts_[number].payload_bytes != static_cast<std::int64_t>(payload.size())) {
    return violate(fmt::format("partition {} offset {}: a record of {} bytes that nobody sent", partition,
                               offset, payload.size()));
  }
  if (!is_payload_of(number, payload)) {
    return violate(fmt::format("partition {} offset {}: record {} has other bytes than were sent", partition,
                               offset, number));
  }
  learn(partition, offset, number, How::fetched);
}

void Model::damaged(std::size_t partition, std::int64_t offset) {
  count("damaged record");
  // After a sync that lost pages, what was not durable may turn bad under a running broker.
  const bool lost_by_cache = lossy_cache_ && offset >= partitions_[partition].durable;
  if (!lost_by_cache && !may_have_rotted(partition, offset)) {
    violate(fmt::format("partition {} offset {}: bytes that are no sound record", partition, offset));
  }
}

void Model::told_end(std::size_t partition, std::int64_t end, std::int64_t end_at_send, const char* what) {
  count("told end");
  if (end < end_at_send) {
    violate(fmt::format("partition {}: {} says that the log ends at {}, but {} was known before it was asked",
                        partition, what, end, end_at_send));
  }
  partitions_[partition].end = std::max(partitions_[partition].end, end);
}

void Model::check_taken(std::size_t partition, std::int64_t start, Duration age) {
  const Partition& here = partitions_[partition];
  for (std::int64_t offset = here.start; offset < start; ++offset) {
    const std::int64_t number = known_at(here, offset);
    if (number == kUnknown || attempts_[static_cast<std::size_t>(number)].life != life_) {
      continue;
    }
    count("record taken by age");
    const Duration since = now_ - attempts_[static_cast<std::size_t>(number)].sent;
    if (since < age) {
      return violate(fmt::format("partition {}: retention took offset {}, {} ms after it was sent", partition,
                                 offset,
                                 std::chrono::duration_cast<std::chrono::milliseconds>(since).count()));
    }
  }
}

void Model::told_start(std::size_t partition, std::int64_t start) {
  Partition& here = partitions_[partition];
  if (start > here.end) {
    violate(fmt::format("partition {}: the log starts at {}, behind its end {}", partition, start, here.end));
  }
  here.start = std::max(here.start, start);
}

void Model::recovered(std::size_t partition, std::int64_t start, std::int64_t end) {
  Partition& here = partitions_[partition];
  count("recovered partition");
  const bool may_be_cut_by_rot = may_have_rotted(partition, end) || may_have_rotted(partition, end - 1);
  here.life_cut_by_rot = may_be_cut_by_rot ? life_ : here.life_cut_by_rot;
  if (end < here.end && !may_be_cut_by_rot) {
    violate(fmt::format("partition {}: recovery ended the log at {}, but {} must have survived", partition,
                        end, here.end));
  }
  if (end < here.end) {
    ++epoch_;  // what was known while the broker recovered is old news, too
  }
  if (start > end) {
    violate(fmt::format("partition {}: recovered with start {} behind end {}", partition, start, end));
  }
  here.start = start;
  here.end = end;
  here.durable = end;
  here.recovered_end = end;
  here.recovered_ends.emplace_back(life_, end);
  here.recovered_life = life_;
  forget_from(here, end);
}

void Model::forget_from(Partition& partition, std::int64_t offset) {
  if (static_cast<std::int64_t>(partition.content.size()) > offset) {
    partition.content.resize(static_cast<std::size_t>(offset));
    partition.since.resize(partition.content.size());
    partition.vouched.resize(partition.content.size());
    partition.all_vouched_below = std::min(partition.all_vouched_below, partition.content.size());
  }
}

void Model::power_lost() {
  for (Partition& partition : partitions_) {
    forget_from(partition, partition.durable);
    for (std::size_t index = 0; index < partition.content.size(); ++index) {
      if (partition.vouched[index] == 0) {
        partition.content[index] = kUnknown;
      }
    }
    partition.end = partition.durable;
  }
  lossy_cache_ = false;
  holes_can_be_ = true;
}

void Model::killed() {
  if (lossy_cache_) {
    const bool still = lossy_cache_;
    power_lost();
    lossy_cache_ = still;
  }
}

void Model::stopped_in_good_order() {
  for (Partition& partition : partitions_) {
    partition.durable = std::max(partition.durable, partition.end);
    vouch_below(partition, partition.end);
  }
}

}  // namespace booblik::sim
