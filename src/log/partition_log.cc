#include "log/partition_log.h"

#include <fmt/format.h>

#include <utility>

#include "log/segmented_log.h"

namespace booblik::log {

Result<std::unique_ptr<PartitionLog>> PartitionLog::open(Context context, TopicPartition id,
                                                         std::string directory, LogOptions options,
                                                         std::optional<PartitionCheckpoint> checkpoint) {
  auto recovered = recover(context, id, directory, options, checkpoint);
  if (!recovered) {
    return std::unexpected(std::move(recovered.error()));
  }
  return std::make_unique<SegmentedLog>(context, std::move(id), std::move(directory), options,
                                        std::move(*recovered));
}

SegmentedLog::SegmentedLog(Context context, TopicPartition id, std::string directory, LogOptions options,
                           RecoveredLog recovered)
    : context_(context),
      id_(std::move(id)),
      directory_(std::move(directory)),
      options_(options),
      segments_(std::move(recovered.segments)),
      end_offset_(active().end),
      report_(std::move(recovered.report)) {
  for (const auto& segment : segments_) {
    size_bytes_ += segment->bytes;
  }
  vouched_ = written_so_far();
}

SegmentedLog::~SegmentedLog() {
  for (const auto& segment : segments_) {
    let_go_of_handle(*segment);
  }
}

std::string SegmentedLog::index_path(const Segment& segment) const {
  return directory_ + "/" + index_file_name(segment.base);
}

std::unexpected<Error> SegmentedLog::fail_log(Error error) {
  if (!failure_) {
    context_.probe.hit("log.failed");
    failure_ = error;
    context_.logger.write(
        env::Level::error,
        fmt::format("{}: takes no more records until the broker restarts; what is stored is still served: {}",
                    id_.to_string(), error.message));
  }
  return std::unexpected(std::move(error));
}

}  // namespace booblik::log
