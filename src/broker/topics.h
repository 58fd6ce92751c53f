// The topics of this broker. Fixed at start: the protocol cannot create one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "log/partition_log.h"
#include "log/partition_writer.h"

namespace booblik::broker {

struct Partition {
  log::PartitionLog& log;
  std::unique_ptr<log::PartitionWriter> writer;
};

struct Topic {
  std::string name;
  std::vector<Partition> partitions;  // by number, from 0
};

class Topics {
 public:
  // `topics` are sorted by name as bytes, none twice.
  explicit Topics(std::vector<Topic> topics) : topics_(std::move(topics)) {}

  [[nodiscard]] std::span<Topic> all() { return topics_; }

  // Null when there is none. The pointers live as long as this object.
  [[nodiscard]] Topic* find(std::string_view name);
  [[nodiscard]] Partition* find(std::string_view name, PartitionId partition);

 private:
  std::vector<Topic> topics_;
};

}  // namespace booblik::broker
