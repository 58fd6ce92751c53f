// Finds out what one segment file holds, by its summary if that is found to speak of it, or by a scan.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "log/partition_log.h"
#include "log/recovery_messages.h"
#include "log/recovery_plan.h"
#include "log/recovery_report.h"
#include "log/segment.h"
#include "log/segment_reader.h"

namespace booblik::log {

struct Examination {
  const PartitionLog::Context& context;
  const RecoveryPlan& plan;
  const SegmentFound& found;
  std::optional<Offset> successor;  // where the next segment begins
  std::string index_path;
  const std::optional<PartitionCheckpoint>& checkpoint;
  Progress& progress;
  RecoveryReport& report;  // its counters, and an index file that does not speak of the segment
};

struct Examined {
  RecordState stopped_at = RecordState::end_of_file;
  std::shared_ptr<env::File> file;  // open to be written; null when the summary was enough
};

// Fills in `segment`, which has its name: end, bytes, damage, times, and its index unless the summary was
// enough. Changes no file. May park.
Result<Examined> examine_segment(const Examination& examination, Segment& segment);

}  // namespace booblik::log
