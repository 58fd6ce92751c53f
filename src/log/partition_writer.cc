#include "log/partition_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"

namespace booblik::log {

PartitionWriter::PartitionWriter(env::Scheduler& scheduler, env::Clock& clock, env::Probe& probe,
                                 env::Logger& logger, PartitionLog& log, ChunkPool& pool, Options options)
    : scheduler_(scheduler),
      clock_(clock),
      probe_(probe),
      logger_(logger),
      log_(log),
      pool_(pool),
      options_(options),
      staging_(pool, log.segment_capacity_bytes(), options.group_bytes_max),
      work_(scheduler),
      sync_work_(scheduler),
      progress_(scheduler),
      fibers_(scheduler),
      barrier_wanted_(log.durable_offset()) {
  staging_.set_planned_position(log_.active_position());
  fibers_.add();
  scheduler_.spawn("writer " + log_.id().to_string(), [this] { write_loop(); });
  fibers_.add();
  scheduler_.spawn("syncer " + log_.id().to_string(), [this] { sync_loop(); });
}

PartitionWriter::~PartitionWriter() {
  BOOBLIK_CHECK(fibers_.running() == 0, "a partition writer is stopped before it is destroyed");
}

bool PartitionWriter::has_room() const {
  return staging_.bytes() < options_.staged_bytes_max && pool_.has_room();
}

env::Event& PartitionWriter::room_event() {
  return pool_.has_room() ? progress_ : pool_.room_event();
}

PartitionWriter::Outcome PartitionWriter::outcome(const AppendTicket& ticket) const {
  switch (ticket.fate->state) {
    case GroupFate::State::failed:
      return Outcome::failed;
    case GroupFate::State::staged:
      return Outcome::pending;
    case GroupFate::State::written:
      break;
  }
  if (!ticket.forced || log_.durable_offset() >= ticket.end_offset()) {
    return Outcome::done;
  }
  return log_.failure() ? Outcome::failed : Outcome::pending;
}

void PartitionWriter::roll_if_older(Duration age) {
  roll_age_ = age;
  work_.notify_all();
}

bool PartitionWriter::stop(Deadline deadline) {
  writer_stopping_ = true;
  work_.notify_all();
  return fibers_.wait(deadline);
}

void PartitionWriter::write_loop() {
  while (true) {
    if (!staging_.empty()) {
      write_group(staging_.take());
      scheduler_.yield();  // between groups others have their turn, and more may be staged
    } else if (const auto age = std::exchange(roll_age_, std::nullopt)) {
      // A failure is in log_.failure(), where everyone who cares looks.
      std::ignore = log_.roll_if_older(*age);
      staging_.set_planned_position(log_.active_position());
      // As after every roll (note_written); nothing happens when all is durable.
      barrier_wanted_ = log_.end_offset();
      sync_work_.notify_all();
      // Whoever waits for more bytes of the segment that was sealed: none will come.
      progress_.notify_all();
    } else if (writer_stopping_) {
      break;
    } else {
      work_.wait(Deadline::never());
    }
  }
  syncer_stopping_ = true;
  sync_work_.notify_all();
  fibers_.done();
}

void PartitionWriter::write_group(Group group) {
  std::vector<RecordRun> runs;
  for (const Chunk& chunk : group.chunks) {
    runs.push_back({chunk.bytes(), chunk.records, chunk.starts_segment});
  }
  // The plan was made before earlier groups were written; if one of them failed, or the log rolled by age,
  // the first run may have to start a segment that the plan did not.
  std::int64_t leading_bytes = 0;
  for (const RecordRun& run : runs) {
    if (&run != runs.data() && run.starts_segment) {
      break;
    }
    leading_bytes += static_cast<std::int64_t>(run.bytes.size());
  }
  if (log_.active_position().value() + leading_bytes > log_.segment_capacity_bytes()) {
    if (!runs.front().starts_segment) {
      probe_.hit("writer.plan_was_outdated");
    }
    runs.front().starts_segment = true;
  }
  if (std::any_of(runs.begin() + 1, runs.end(), [](const RecordRun& run) { return run.starts_segment; })) {
    probe_.hit("writer.group_spans_segments");
  }

  const Offset base = log_.end_offset();
  const auto appended = log_.append(runs);
  ++counts_.groups;
  if (appended) {
    group.fate->base = base;
    group.fate->state = GroupFate::State::written;
    note_written(group, std::ranges::any_of(runs, &RecordRun::starts_segment));
  } else {
    note_failed(appended.error());
    group.fate->state = GroupFate::State::failed;
    // What was staged behind it would be appended out of its producer's order.
    fail_staged();
  }
  give_back(group);
  if (staging_.empty()) {
    staging_.set_planned_position(log_.active_position());
  }
  progress_.notify_all();
}

void PartitionWriter::note_written(const Group& group, bool rolled) {
  if (std::exchange(refusing_, false)) {
    probe_.hit("writer.stores_again");
    logger_.write(env::Level::info, fmt::format("{}: records are stored again", log_.id().to_string()));
  }
  if (!oldest_unsynced_) {
    oldest_unsynced_ = clock_.now();
  }
  // A roll is followed by a barrier at once: if the power went while the sealed segment is not durable and
  // its successor is, the log would have a gap.
  if (group.wants_barrier && barrier_wanted_ > log_.durable_offset()) {
    probe_.hit("writer.barrier_shared");
  }
  if (group.wants_barrier || rolled) {
    barrier_wanted_ = log_.end_offset();
  }
  sync_work_.notify_all();
}

void PartitionWriter::note_failed(const Error& error) {
  probe_.hit("writer.group_failed");
  ++counts_.failed_groups;
  // Once for each spell of failures. A failure that is final has been logged by the log itself.
  if (!std::exchange(refusing_, true) && !log_.failure()) {
    logger_.write(env::Level::error,
                  fmt::format("{}: records cannot be stored, producers are refused until they can: {}",
                              log_.id().to_string(), error.message));
  }
}

void PartitionWriter::fail_staged() {
  while (!staging_.empty()) {
    probe_.hit("writer.staged_behind_a_failure");
    Group group = staging_.take();
    group.fate->state = GroupFate::State::failed;
    ++counts_.failed_groups;
    give_back(group);
  }
}

void PartitionWriter::give_back(Group& group) {
  for (Chunk& chunk : group.chunks) {
    pool_.give_back(std::move(chunk));
  }
  group.chunks.clear();
}

bool PartitionWriter::sync_is_due() const {
  if (log_.failure() || log_.durable_offset() == log_.end_offset()) {
    return false;
  }
  const std::int64_t unsynced_records = log_.end_offset() - log_.durable_offset();
  return syncer_stopping_ || barrier_wanted_ > log_.durable_offset() ||
         unsynced_records >=
             options_.flush_every_records.value_or(std::numeric_limits<std::int64_t>::max()) ||
         log_.unsynced_bytes() >= options_.flush_every_bytes || next_flush().passed(clock_.now());
}

Deadline PartitionWriter::next_flush() const {
  const bool nothing_to_do = log_.failure() || log_.durable_offset() == log_.end_offset();
  if (!options_.flush_every || !oldest_unsynced_ || nothing_to_do) {
    return Deadline::never();
  }
  return Deadline(*oldest_unsynced_ + *options_.flush_every);
}

void PartitionWriter::sync_loop() {
  while (true) {
    if (sync_is_due()) {
      if (barrier_wanted_ <= log_.durable_offset()) {
        probe_.hit(syncer_stopping_ ? "writer.last_barrier" : "writer.background_barrier");
      }
      oldest_unsynced_.reset();  // what comes during the barrier starts a new wait
      ++counts_.barriers;
      const auto durable = log_.sync();
      if (!durable) {
        probe_.hit("writer.barrier_failed");
      }
      progress_.notify_all();
    } else if (syncer_stopping_) {
      break;
    } else {
      sync_work_.wait(next_flush());
    }
  }
  fibers_.done();
}

}  // namespace booblik::log
