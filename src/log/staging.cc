#include "log/staging.h"

#include <utility>

#include "base/check.h"

namespace booblik::log {

Staging::Place Staging::begin_batch(std::int64_t batch_bytes, bool wants_barrier) {
  const bool full = !groups_.empty() && groups_.back().bytes + batch_bytes > group_bytes_max_;
  if (groups_.empty() || full) {
    groups_.emplace_back();
  }
  Group& group = groups_.back();
  group.wants_barrier |= wants_barrier;
  return {group.fate, group.records};
}

void Staging::start_chunk(Group& group, std::size_t bytes, bool starts_segment) {
  BOOBLIK_CHECK(static_cast<std::int64_t>(bytes) <= segment_capacity_, "a staged record fits a segment");
  group.chunks.push_back(pool_.take(bytes));
  if (starts_segment) {
    group.chunks.back().starts_segment = true;
    planned_ = Position(0);
  }
}

Group Staging::take() {
  BOOBLIK_CHECK(!groups_.empty(), "there is a group to take");
  Group group = std::move(groups_.front());
  groups_.pop_front();
  bytes_ -= group.bytes;
  return group;
}

}  // namespace booblik::log
