#include "broker/topics.h"

#include <algorithm>

namespace booblik::broker {

Topic* Topics::find(std::string_view name) {
  const auto at = std::ranges::lower_bound(topics_, name, std::less<>(), &Topic::name);
  return at != topics_.end() && at->name == name ? &*at : nullptr;
}

Partition* Topics::find(std::string_view name, PartitionId partition) {
  Topic* topic = find(name);
  if (topic == nullptr || partition.value() < 0 ||
      static_cast<std::size_t>(partition.value()) >= topic->partitions.size()) {
    return nullptr;
  }
  return &topic->partitions[static_cast<std::size_t>(partition.value())];
}

}  // namespace booblik::broker
