// The log of one partition: segments on disk, the index that finds an offset in them, what is written and
// what is durable. One fiber appends (the PartitionWriter), one syncs, any number read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "env/clock.h"
#include "env/disk.h"
#include "env/logger.h"
#include "env/probe.h"
#include "log/checkpoint.h"

namespace booblik::log {

class SegmentFiles;     // open descriptors of segments that are not appended to, bounded (segment_files.h)
class IndexCache;       // their indexes, bounded (index.h)
struct RecoveryReport;  // what open found (recovery_report.h)

struct LogOptions {
  std::int64_t segment_capacity_bytes =
      0;  // a segment never grows beyond it; larger ones that exist stay readable
  std::int64_t index_interval_bytes = 0;  // one index entry for about so many bytes
};

struct RetentionLimits {
  std::optional<std::int64_t> bytes;  // whole oldest segments go while what is left still holds so many bytes
  std::optional<Duration> age;        // a segment goes when its last append is older
};

// Encoded records that go into one segment, one behind the other (size, crc32c, payload each).
struct RecordRun {
  Bytes bytes;
  std::int64_t records = 0;
  bool starts_segment = false;  // roll to a new segment first
};

// Bytes to serve, and the pin that keeps them: the file stays readable until the slice is destroyed, whatever
// retention does meanwhile.
struct Slice {
  Offset high_watermark;
  std::shared_ptr<env::File> file;  // null when bytes is 0
  Position position;
  std::int64_t bytes = 0;
};

class PartitionLog {
 public:
  // Everything is borrowed and outlives the log, but for the options.
  struct Context {
    env::Disk& disk;
    env::Clock& clock;
    env::Logger& logger;
    env::Probe& probe;
    SegmentFiles& files;
    IndexCache& indexes;
  };

  // Opens or creates the partition in `directory` (whose parent exists) and recovers it: docs/disk-format.md
  // has the table of outcomes. `checkpoint` is what the last run knew to be durable, if it is known. On
  // return everything from start_offset() to end_offset() is durable, the directory entries included, or the
  // log says that it is damaged. Parks.
  static Result<std::unique_ptr<PartitionLog>> open(Context context, TopicPartition id, std::string directory,
                                                    LogOptions options,
                                                    std::optional<PartitionCheckpoint> checkpoint);

  virtual ~PartitionLog() = default;
  PartitionLog(const PartitionLog&) = delete;
  PartitionLog& operator=(const PartitionLog&) = delete;

  [[nodiscard]] virtual const TopicPartition& id() const = 0;
  [[nodiscard]] virtual Offset start_offset() const = 0;
  [[nodiscard]] virtual Offset end_offset() const = 0;      // the high watermark: all below is written
  [[nodiscard]] virtual Offset durable_offset() const = 0;  // all below survives the power
  [[nodiscard]] virtual std::int64_t size_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t unsynced_bytes() const = 0;
  [[nodiscard]] virtual std::size_t segment_count() const = 0;
  [[nodiscard]] virtual const RecoveryReport& recovery() const = 0;

  // The failure after which this log takes no more writes until the broker restarts; reads go on.
  [[nodiscard]] virtual const std::optional<Error>& failure() const = 0;

  // --- writing: one caller at a time ---

  // Where the next record would go in the active segment, and how many bytes a segment holds.
  [[nodiscard]] virtual Position active_position() const = 0;
  [[nodiscard]] virtual std::int64_t segment_capacity_bytes() const = 0;

  // Writes `runs` as records end_offset(), end_offset() + 1, ... and then publishes them all by moving
  // end_offset(): nothing of a failed group is ever visible, its bytes are cut off again and segments made
  // for it are removed. Runs must fit their segments (checked). Does not wait for the disk. `no_space` and
  // `too_many_files` may succeed later; every other error sets failure(). May park.
  virtual Result<void> append(std::span<const RecordRun> runs) = 0;

  // Seals the active segment if it holds records and the oldest of them is older than `age`, so that
  // retention can take quiet topics. Counts as an append for "one caller at a time". May park.
  virtual Result<void> roll_if_older(Duration age) = 0;

  // --- barriers: one caller at a time; appends may run meanwhile ---

  // Makes everything written before the call durable, in whatever segments it lies, their directory entries
  // included, and returns the new durable_offset(). A failure sets failure(). Parks.
  virtual Result<Offset> sync() = 0;

  // --- reading ---

  // The bytes from `from`'s record on, cut at max_bytes (> 0), at the end of its segment, at end_offset() and
  // before known damage; not empty unless from == end_offset(). Errors: offset_out_of_range (also when
  // retention took it while parked), damaged, io, too_many_files. May park.
  virtual Result<Slice> read(Offset from, std::int64_t max_bytes) = 0;

  // How many bytes read() could ever serve from `from`'s segment, and how many are there now.
  struct Available {
    std::int64_t bytes_now = 0;
    std::int64_t bytes_ever = 0;  // equals bytes_now when the segment is sealed
  };
  virtual Result<Available> available(Offset from) = 0;

  // --- retention ---

  // Removes whole oldest segments, never the active one, never out of order; returns how many. The directory
  // is synced before it returns. A clock that jumps never deletes what is younger by this run's own record.
  // Parks.
  virtual Result<std::int64_t> apply_retention(const RetentionLimits& limits) = 0;

  // What may be vouched for after a restart: only what sync() has covered.
  [[nodiscard]] virtual PartitionCheckpoint checkpoint() const = 0;

  // Writes down the index of what checkpoint() covers in the active segment, so that the next start does not
  // read it. Call it before checkpoint(), one at a time. A failure costs the next start time and nothing
  // else. May park.
  virtual void persist_index() {}

 protected:
  PartitionLog() = default;
};

}  // namespace booblik::log
