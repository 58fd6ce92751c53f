// Group commit for one partition. Batches are staged by whoever has them; one fiber writes all that is
// waiting with one gathered write; another keeps at most one barrier in flight, which serves everyone who
// waits when it starts. Writing goes on during a barrier, and nobody who does not want a barrier waits for
// one.
#pragma once

#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "env/clock.h"
#include "env/logger.h"
#include "env/probe.h"
#include "env/sync.h"
#include "log/partition_log.h"
#include "log/staging.h"

namespace booblik::log {

// A promise about one batch. Cheap to keep and to copy; it may outlive the writer.
struct AppendTicket {
  std::shared_ptr<GroupFate> fate;
  std::int64_t first = 0;  // number of the batch's first record in its group
  std::int64_t records = 0;
  bool forced = false;

  // Of a batch that is done.
  [[nodiscard]] Offset base_offset() const { return fate->base + first; }
  [[nodiscard]] Offset end_offset() const { return base_offset() + records; }
};

class PartitionWriter {
 public:
  struct Options {
    std::int64_t staged_bytes_max = 16LL * 1024 * 1024;  // then has_room() says no
    std::int64_t group_bytes_max = 1024LL * 1024;
    // What nobody has asked a barrier for is synced after so much, so long, or so many bytes.
    std::optional<std::int64_t> flush_every_records = std::nullopt;
    std::optional<Duration> flush_every = std::nullopt;
    std::int64_t flush_every_bytes = 64LL * 1024 * 1024;
  };

  // Spawns the two fibers. Everything is borrowed and outlives the writer.
  PartitionWriter(env::Scheduler& scheduler, env::Clock& clock, env::Probe& probe, env::Logger& logger,
                  PartitionLog& log, ChunkPool& pool, Options options);
  PartitionWriter(const PartitionWriter&) = delete;
  PartitionWriter& operator=(const PartitionWriter&) = delete;
  // stop() must have returned.
  ~PartitionWriter();

  // Back-pressure: whoever stages waits until it is true, on room_event() (which wakes early, too).
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] env::Event& room_event();

  // Stages one batch: `records` is a range of Bytes, `count` of them, none empty, each fitting a segment with
  // its header, `bytes_on_disk` in all. Never parks; the payloads are copied. Not durable, not even written,
  // on return.
  template <class Records>
  [[nodiscard]] AppendTicket stage(const Records& records, std::int64_t count, std::int64_t bytes_on_disk,
                                   bool forced) {
    Staging::Place place = staging_.begin_batch(bytes_on_disk, forced);
    for (const Bytes payload : records) {
      staging_.add(payload);
    }
    work_.notify_all();
    return {std::move(place.fate), place.first, count, forced};
  }

  enum class Outcome {
    pending,
    done,    // written; if forced, also durable
    failed,  // not appended, or nobody can say whether it is durable
  };
  [[nodiscard]] Outcome outcome(const AppendTicket& ticket) const;

  // Notified whenever records have become visible or durable, a segment was sealed, or the log has failed.
  // Also by notify_readers().
  [[nodiscard]] env::Event& progress() { return progress_; }

  // For what else readers wait for: retention has moved the log's start.
  void notify_readers() { progress_.notify_all(); }

  // The writer fiber seals the active segment when its oldest record is older than `age` (between two
  // groups).
  void roll_if_older(Duration age);

  // Writes what is staged, syncs it, and ends both fibers; false if `deadline` came first (then it may be
  // called again). Nothing may be staged after the call. Parks.
  [[nodiscard]] bool stop(Deadline deadline);

  // Counters for metrics.
  struct Counts {
    std::int64_t groups = 0;
    std::int64_t barriers = 0;
    std::int64_t failed_groups = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  void write_loop();
  void sync_loop();
  void write_group(Group group);
  void note_failed(const Error& error);
  void fail_staged();
  void give_back(Group& group);
  [[nodiscard]] bool sync_is_due() const;
  [[nodiscard]] Deadline next_flush() const;
  void note_written(const Group& group, bool rolled);

  env::Scheduler& scheduler_;
  env::Clock& clock_;
  env::Probe& probe_;
  env::Logger& logger_;
  PartitionLog& log_;
  ChunkPool& pool_;
  const Options options_;

  Staging staging_;
  env::Event work_;       // for the writer: something was staged, a roll is wanted, or the end
  env::Event sync_work_;  // for the syncer
  env::Event progress_;
  env::WaitGroup fibers_;
  Counts counts_;

  std::optional<Duration> roll_age_;
  Offset barrier_wanted_;  // somebody waits until all below is durable
  std::optional<Instant> oldest_unsynced_;
  bool refusing_ = false;  // the last group could not be written, but the next one may
  bool writer_stopping_ = false;
  bool syncer_stopping_ = false;
};

}  // namespace booblik::log
