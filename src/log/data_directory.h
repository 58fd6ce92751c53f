// The data directory: its lock, its checkpoint file, and the logs of the configured partitions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "log/partition_log.h"

namespace booblik::log {

class DataDirectory {
 public:
  struct Options {
    std::string path;
    std::map<std::string, std::int32_t> topics;  // name to partition count; names are valid
    LogOptions log;
    std::size_t open_segment_files_max = 0;  // descriptors for segments that are not being appended to
    std::int64_t index_cache_bytes_max =
        0;  // memory for the indexes of segments that are not being appended to
  };

  // Creates the directory if it is missing (its parent must exist), takes the lock, checks it against the
  // configuration, recovers every configured partition and writes a checkpoint. Errors: `locked` naming
  // directory and process; `invalid` when a configured topic has fewer partitions than are on disk (naming
  // them). Topics on disk that are not configured and files that are not ours are logged and left alone.
  // Parks.
  static Result<std::unique_ptr<DataDirectory>> open(env::Disk& disk, env::Clock& clock, env::Logger& logger,
                                                     env::Probe& probe, Options options);

  virtual ~DataDirectory() = default;

  // In the order of topic name (bytes) and partition number.
  [[nodiscard]] virtual const std::vector<std::unique_ptr<PartitionLog>>& partitions() const = 0;

  // Replaces the checkpoint file by what the partitions vouch for now: written, synced, renamed, directory
  // synced. Losing it costs the next start time, never data. One caller at a time. Parks.
  virtual Result<void> write_checkpoint() = 0;

 protected:
  DataDirectory() = default;
};

}  // namespace booblik::log
