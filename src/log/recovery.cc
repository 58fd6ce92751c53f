#include "log/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "log/examine.h"
#include "log/index_file.h"
#include "log/recovery_messages.h"
#include "log/recovery_plan.h"
#include "log/recovery_table.h"
#include "log/rewrite.h"

namespace booblik::log {
namespace {

class Recovery {
 public:
  Recovery(const PartitionLog::Context& context, const TopicPartition& id, const std::string& directory,
           const LogOptions& options, const std::optional<PartitionCheckpoint>& checkpoint)
      : context_(context),
        partition_(id.to_string()),
        directory_(directory),
        options_(options),
        checkpoint_(checkpoint),
        begun_(context.clock.now()) {}

  Result<RecoveredLog> run() {
    for (const auto step : {&Recovery::prepare_directory, &Recovery::recover_segments,
                            &Recovery::settle_active_segment, &Recovery::tidy_names}) {
      if (auto done = (this->*step)(); !done) {
        return fail(partition_ + ": recovery", std::move(done.error()));
      }
    }
    note_checkpoint();
    log_.report.took = context_.clock.now() - begun_;
    log_findings(context_.logger, partition_, log_.report);
    return std::move(log_);
  }

 private:
  Result<void> prepare_directory();
  Result<void> recover_segments();
  Result<Action> recover_segment(std::size_t number);
  [[nodiscard]] EndsAt ends_at(std::size_t number, const Segment& segment) const;
  Result<void> make_durable(std::size_t number, Segment& segment, env::File& file, Action action);
  Result<void> remove_behind(std::size_t number);
  void report(std::size_t number, const Segment& segment, Outcome outcome);
  void keep(std::size_t number, std::shared_ptr<Segment> segment);
  void seal(Segment& segment);
  Result<void> settle_active_segment();
  Result<void> begin_segment(Offset base);
  Result<void> tidy_names();
  void note_checkpoint();

  [[nodiscard]] SegmentFile name_segment(Offset base) {
    return context_.files.name(directory_ + "/" + segment_file_name(base));
  }
  [[nodiscard]] std::string index_path(Offset base) const { return directory_ + "/" + index_file_name(base); }
  [[nodiscard]] std::optional<Offset> successor(std::size_t number) const {
    return number + 1 < plan_.segments.size() ? std::optional(plan_.segments[number + 1].base) : std::nullopt;
  }

  const PartitionLog::Context& context_;
  const std::string partition_;
  const std::string& directory_;
  const LogOptions& options_;
  const std::optional<PartitionCheckpoint>& checkpoint_;
  const Instant begun_;

  RecoveryPlan plan_;
  std::optional<Progress> progress_;
  RecoveredLog log_;
  Offset end_;                              // of everything found
  std::shared_ptr<Segment> may_be_active_;  // the newest, if it can be appended to
};

// The names that are found may be newer than the last sync of their directories.
Result<void> Recovery::prepare_directory() {
  const std::size_t slash = directory_.rfind('/');
  const std::string parent =
      slash == std::string::npos ? "." : directory_.substr(0, std::max<std::size_t>(slash, 1));
  env::Disk& disk = context_.disk;
  if (auto created = disk.create_directory(directory_); !created) {
    return created;
  }
  for (const std::string& path : {parent, directory_}) {
    if (auto synced = disk.sync_directory(path); !synced) {
      return synced;
    }
  }
  auto plan = plan_recovery(disk, directory_, checkpoint_);
  if (!plan) {
    return std::unexpected(std::move(plan.error()));
  }
  plan_ = std::move(*plan);
  progress_.emplace(context_.clock, context_.logger, partition_, plan_.bytes_to_scan());
  return {};
}

Result<void> Recovery::recover_segments() {
  for (std::size_t number = 0; number < plan_.segments.size(); ++number) {
    const auto action = recover_segment(number);
    if (!action) {
      return std::unexpected(action.error());
    }
  }
  return {};
}

Result<Action> Recovery::recover_segment(std::size_t number) {
  const SegmentFound found = plan_.segments[number];
  auto segment =
      std::make_shared<Segment>(name_segment(found.base), found.base, options_.index_interval_bytes);
  auto examined = examine_segment({.context = context_,
                                   .plan = plan_,
                                   .found = found,
                                   .successor = successor(number),
                                   .index_path = index_path(found.base),
                                   .checkpoint = checkpoint_,
                                   .progress = *progress_,
                                   .report = log_.report},
                                  *segment);
  if (!examined) {
    return fail(segment_file_name(found.base), std::move(examined.error()));
  }
  const Verdict verdict = decide(ends_at(number, *segment), behind(examined->stopped_at));
  report(number, *segment, verdict.outcome);
  if (verdict.outcome == Outcome::gap) {
    context_.probe.hit("recovery.gap");
  }
  if (examined->file != nullptr) {
    if (auto durable = make_durable(number, *segment, *examined->file, verdict.action); !durable) {
      return fail(segment_file_name(found.base), std::move(durable.error()));
    }
  }
  if (verdict.action == Action::end_log) {
    if (auto removed = remove_behind(number); !removed) {
      return std::unexpected(std::move(removed.error()));
    }
  }
  if (verdict.action == Action::seal) {
    context_.probe.hit("recovery.sealed_newest");
  }
  const bool newest = number + 1 == plan_.segments.size();
  const bool may_grow = newest && verdict.action != Action::seal && !found.summary &&
                        segment->damage.empty() && segment->base >= end_ &&
                        segment->bytes < options_.segment_capacity_bytes;
  if (may_grow) {
    segment->handle = examined->file;
    may_be_active_ = segment;
  }
  keep(number, std::move(segment));
  return verdict.action;
}

EndsAt Recovery::ends_at(std::size_t number, const Segment& segment) const {
  const auto next = successor(number);
  const bool at_line = segment.end >= plan_.line;
  if (!next) {
    return at_line ? EndsAt::newest_at_line : EndsAt::newest_below_line;
  }
  if (segment.end == *next) {
    return EndsAt::successor;
  }
  if (segment.end < *next) {
    return at_line && plan_.has_checkpoint ? EndsAt::hole_at_line : EndsAt::hole_below_line;
  }
  const bool is_name_alone = *next >= plan_.line && *next > plan_.newest_with_records;
  return is_name_alone && plan_.has_checkpoint ? EndsAt::overlap_at_line : EndsAt::overlap_below_line;
}

Result<void> Recovery::make_durable(std::size_t number, Segment& segment, env::File& file, Action action) {
  const auto from = plan_.not_durable_from(plan_.segments[number], segment.end);
  if (from && from->value() < segment.bytes) {
    if (auto rewritten = rewrite_in_place(file, *from, Position(segment.bytes)); !rewritten) {
      return rewritten;
    }
    log_.report.bytes_rewritten += segment.bytes - from->value();
    context_.probe.hit("recovery.rewrote");
  }
  const bool may_cut = action == Action::cut || action == Action::end_log;
  if (may_cut && segment.file_bytes > segment.bytes) {
    if (auto truncated = file.truncate(segment.bytes); !truncated) {
      return truncated;
    }
    log_.report.bytes_cut += segment.file_bytes - segment.bytes;
    segment.file_bytes = segment.bytes;
    context_.probe.hit("recovery.tail_cut");
  }
  // Where the log ends also when nothing was cut: an earlier start may have cut the file and failed to sync
  // it. The power would bring the tail back, behind records that were appended since.
  const bool newest = number + 1 == plan_.segments.size();
  return from || newest || may_cut ? file.sync_data() : Result<void>();
}

// Newest first, so that what is left after a crash in between is the same log with fewer segments behind its
// end.
Result<void> Recovery::remove_behind(std::size_t number) {
  while (plan_.segments.size() > number + 1) {
    const SegmentFound& last = plan_.segments.back();
    SegmentFile file = name_segment(last.base);
    if (auto removed = context_.files.remove(file); !removed) {
      return std::unexpected(std::move(removed.error()));
    }
    if (last.has_index_file) {
      plan_.orphan_indexes.push_back(index_file_name(last.base));
    }
    log_.report.add({.outcome = Outcome::unreachable,
                     .file = segment_file_name(last.base),
                     .position = Position(),
                     .from = last.base,
                     .to = last.base,
                     .bytes = last.file_bytes});
    ++log_.report.segments_removed;
    context_.probe.hit("recovery.unreachable_removed");
    plan_.segments.pop_back();
  }
  return {};
}

void Recovery::report(std::size_t number, const Segment& segment, Outcome outcome) {
  for (const DamagedRange& range : segment.damage) {
    log_.report.add({.outcome = Outcome::damaged_records,
                     .file = segment_file_name(segment.base),
                     .position = range.position,
                     .from = range.from,
                     .to = range.to,
                     .bytes = range.end - range.position});
    context_.probe.hit("recovery.damage");
  }
  if (outcome == Outcome::overlap) {
    return;  // told of the later segment, when it is kept
  }
  log_.report.add({.outcome = outcome,
                   .file = segment_file_name(segment.base),
                   .position = Position(segment.bytes),
                   .from = segment.end,
                   .to = is_damage(outcome) ? successor(number).value_or(plan_.line) : segment.end,
                   .bytes = segment.file_bytes - segment.bytes});
}

void Recovery::keep(std::size_t number, std::shared_ptr<Segment> segment) {
  const Offset end_before = std::exchange(end_, std::max(end_, segment->end));
  if (segment->base < end_before) {
    log_.report.add({.outcome = Outcome::overlap,
                     .file = segment_file_name(segment->base),
                     .position = Position(),
                     .from = segment->base,
                     .to = end_before,
                     .bytes = segment->bytes});
    context_.probe.hit("recovery.overlap");
    // Its own numbers are believed only if its successor confirms them.
    if (segment->end <= end_before || successor(number) != segment->end) {
      return;
    }
    segment->first = end_before;
  }
  if (segment != may_be_active_) {
    if (segment->end == segment->base && plan_.segments[number].has_index_file) {
      // It speaks of records that were not found: a later start must not believe it after all.
      plan_.orphan_indexes.push_back(index_file_name(segment->base));
    }
    seal(*segment);
  }
  log_.segments.push_back(std::move(segment));
}

// Everything in it is durable by now.
void Recovery::seal(Segment& segment) {
  segment.sealed = true;
  segment.handle.reset();
  if (segment.index_file_complete || segment.end == segment.base) {
    segment.index.reset();
    return;
  }
  const SegmentSummary summary = summarize(segment, *segment.index);
  const auto written = write_index_file(context_.disk, index_path(segment.base), segment, *segment.index,
                                        Position(segment.bytes), &summary);
  segment.index_file_complete = written.has_value();
  context_.indexes.put(segment.file.number(), std::exchange(segment.index, nullptr));
}

Result<void> Recovery::settle_active_segment() {
  const Offset base = std::max(end_, plan_.point ? plan_.point->offset : Offset());
  if (base >= kOffsetMax) {
    return fail(
        ErrorCode::invalid,
        fmt::format("the log in {} ends at offset {}, and none is left behind it: the name of its newest "
                    "segment is wrong, move that file away",
                    directory_, base.value()));
  }
  if (may_be_active_ != nullptr) {
    BOOBLIK_CHECK(may_be_active_->file_bytes == may_be_active_->bytes,
                  "nothing lies behind the end of the log");
    return {};
  }
  if (plan_.segments.empty() && base > Offset()) {
    log_.report.add({.outcome = Outcome::missing_log, .file = {}, .position = {}, .from = base, .to = base});
  }
  return begin_segment(base);
}

Result<void> Recovery::begin_segment(Offset base) {
  auto segment = std::make_shared<Segment>(name_segment(base), base, options_.index_interval_bytes);
  auto handle = context_.files.create(segment->file);
  if (!handle) {
    return std::unexpected(std::move(handle.error()));
  }
  segment->handle = std::move(*handle);
  segment->times = appended_now(context_.clock);
  log_.segments.push_back(std::move(segment));
  return {};
}

Result<void> Recovery::tidy_names() {
  for (const std::string& name : plan_.orphan_indexes) {
    // Derived and unused: failing to remove one harms nothing.
    std::ignore = context_.disk.remove(directory_ + "/" + name);
  }
  for (const std::string& name : plan_.foreign) {
    log_.report.add({.outcome = Outcome::foreign_file, .file = name, .position = {}, .from = {}, .to = {}});
  }
  return context_.disk.sync_directory(directory_);
}

void Recovery::note_checkpoint() {
  if (!checkpoint_) {
    context_.probe.hit("recovery.no_checkpoint");
  } else if (end_ != checkpoint_->offset) {
    context_.probe.hit(end_ > checkpoint_->offset ? "recovery.checkpoint_older"
                                                  : "recovery.ended_below_checkpoint");
  }
}

}  // namespace

Result<RecoveredLog> recover(const PartitionLog::Context& context, const TopicPartition& id,
                             const std::string& directory, const LogOptions& options,
                             const std::optional<PartitionCheckpoint>& checkpoint) {
  return Recovery(context, id, directory, options, checkpoint).run();
}

}  // namespace booblik::log
