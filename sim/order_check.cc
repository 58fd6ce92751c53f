// Requests of one connection take effect in order, so what a log holds of a connection has no gap: a batch
// that was sent in front of a stored one is stored as well, unless it was refused.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "sim/model.h"

namespace booblik::sim {

void Model::check_order(std::size_t partition) {
  const Partition& here = partitions_[partition];
  // By attempt: the one that its connection sent before, to the same partition.
  std::map<std::uint64_t, AttemptNumber> last_sent;
  std::map<AttemptNumber, AttemptNumber> sent_before;
  for (AttemptNumber number = 0; number < attempts_.size(); ++number) {
    const Attempt& sent = attempts_[number];
    if (sent.partition != partition || sent.refused) {
      continue;
    }
    const auto [last, is_first] = last_sent.emplace(sent.connection, number);
    if (!is_first) {
      sent_before.emplace(number, std::exchange(last->second, number));
    }
  }
  std::map<std::uint64_t, AttemptNumber> last_seen;
  for (std::int64_t offset = here.start; offset < static_cast<std::int64_t>(here.content.size()); ++offset) {
    const std::int64_t found = here.content[static_cast<std::size_t>(offset)];
    if (found == kUnknown) {
      last_seen.clear();  // whose record was there, nobody knows
      continue;
    }
    const auto number = static_cast<AttemptNumber>(found);
    const std::uint64_t connection = attempts_[number].connection;
    const auto before = sent_before.find(number);
    const auto seen = last_seen.find(connection);
    if (seen != last_seen.end() && before != sent_before.end()) {
      count("order in a log");
      if (before->second != seen->second) {
        return violate(
            fmt::format("partition {} offset {}: record {} is there, and record {}, which its connection "
                        "sent before, is not between it and record {}",
                        partition, offset, number, before->second, seen->second));
      }
    }
    last_seen[connection] = number;
  }
}

}  // namespace booblik::sim
