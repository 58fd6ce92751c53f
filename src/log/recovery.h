// Brings the directory of a partition into a state that can be appended to, and says what was found.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "log/partition_log.h"
#include "log/recovery_report.h"
#include "log/segment.h"

namespace booblik::log {

struct RecoveredLog {
  std::vector<std::shared_ptr<Segment>> segments;  // ascending in `first`; the last is the active one, open
  RecoveryReport report;
};

// The contract is PartitionLog::open's. Running it again, also after it was cut off anywhere, gives the same
// bytes: it only cuts and removes what lies behind the end of the log, and rewrites bytes by themselves. An
// error means that the disk refused; nothing that was found is lost by it. Logs what it finds, and its
// progress when that takes long. Parks.
Result<RecoveredLog> recover(const PartitionLog::Context& context, const TopicPartition& id,
                             const std::string& directory, const LogOptions& options,
                             const std::optional<PartitionCheckpoint>& checkpoint);

}  // namespace booblik::log
