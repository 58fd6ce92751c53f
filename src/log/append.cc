#include <algorithm>
#include <utility>

#include "base/check.h"
#include "log/segmented_log.h"

namespace booblik::log {
namespace {

// Walks the records of a run, and adds those that are due to the index.
void index_run(SegmentIndex& index, const RecordRun& run, Offset offset, Position position) {
  const std::byte* at = run.bytes.data();
  const std::byte* const end = at + run.bytes.size();
  const Offset run_end = offset + run.records;
  while (at != end) {
    BOOBLIK_CHECK(end - at >= kRecordHeaderBytes, "a run holds whole records");
    const RecordHeader header = load_record_header(at);
    BOOBLIK_CHECK(header.payload_bytes > 0 && header.record_bytes() <= end - at, "a run holds whole records");
    if (position >= index.next_due()) {
      index.add({offset, position, header.crc});
    }
    at += header.record_bytes();
    position += header.record_bytes();
    offset += 1;
  }
  BOOBLIK_CHECK(offset == run_end, "a run holds as many records as it says");
}

bool may_work_later(ErrorCode code) {
  return code == ErrorCode::no_space || code == ErrorCode::too_many_files;
}

}  // namespace

Result<void> SegmentedLog::append(std::span<const RecordRun> runs) {
  if (failure_) {
    return std::unexpected(*failure_);
  }
  Group group = begin_group();
  auto written = write_group(group, runs);
  if (written && failure_) {
    context_.probe.hit("log.barrier_failed_under_append");
    written = std::unexpected(*failure_);  // a barrier failed meanwhile: what is on disk is unknown
  }
  if (!written) {
    return roll_back(group, std::move(written.error()));
  }
  publish(group);
  return {};
}

Result<void> SegmentedLog::roll_if_older(Duration age) {
  if (failure_) {
    return std::unexpected(*failure_);
  }
  const bool has_records = active().end > active().base;
  if (!has_records || context_.clock.now() - active().times.first <= age) {
    return {};
  }
  Group group = begin_group();
  if (auto begun = begin_segment(group); !begun) {
    return roll_back(group, std::move(begun.error()));
  }
  context_.probe.hit("log.rolled_by_age");
  publish(group);
  return {};
}

SegmentedLog::Group SegmentedLog::begin_group() const {
  return {.active_end = active().end, .active_bytes = active().bytes, .new_segments = {}};
}

Result<void> SegmentedLog::write_group(Group& group, std::span<const RecordRun> runs) {
  while (!runs.empty()) {
    const auto next =
        std::find_if(runs.begin() + 1, runs.end(), [](const RecordRun& run) { return run.starts_segment; });
    const auto together = runs.first(static_cast<std::size_t>(next - runs.begin()));
    // An active segment without records is as good as a new one, and has the name that the new one would get.
    const bool is_empty = group.new_segments.empty() && group.active_bytes == 0;
    if (together.front().starts_segment && !is_empty) {
      if (auto begun = begin_segment(group); !begun) {
        return begun;
      }
    }
    if (auto written = write_runs(group, together); !written) {
      return written;
    }
    runs = runs.subspan(together.size());
  }
  return {};
}

Result<void> SegmentedLog::write_runs(Group& group, std::span<const RecordRun> runs) {
  Segment& segment = group.new_segments.empty() ? active() : *group.new_segments.back();
  Offset& end = group.new_segments.empty() ? group.active_end : segment.end;
  std::int64_t& bytes = group.new_segments.empty() ? group.active_bytes : segment.bytes;

  std::vector<Bytes> parts;
  parts.reserve(runs.size());
  const Position begin(bytes);
  Offset offset = end;
  std::int64_t position = bytes;
  for (const RecordRun& run : runs) {
    index_run(*segment.index, run, offset, Position(position));
    parts.push_back(run.bytes);
    offset += run.records;
    position += static_cast<std::int64_t>(run.bytes.size());
  }
  BOOBLIK_CHECK(position <= options_.segment_capacity_bytes, "runs fit their segment");
  if (auto written = segment.handle->write_at(parts, begin); !written) {
    return fail("write " + segment.file.path(), std::move(written.error()));
  }
  group.records += offset - end;
  group.bytes += position - bytes;
  end = offset;
  bytes = position;
  return {};
}

Result<void> SegmentedLog::begin_segment(Group& group) {
  if (context_.files.pinned_too_many()) {
    if (auto freed = sync_to_free_descriptors(group); !freed) {
      return freed;
    }
  }
  const Offset base = end_offset_ + group.records;
  auto segment = std::make_shared<Segment>(context_.files.name(directory_ + "/" + segment_file_name(base)),
                                           base, options_.index_interval_bytes);
  auto handle = context_.files.create(segment->file);
  if (!handle && handle.error().code == ErrorCode::too_many_files) {
    if (auto freed = sync_to_free_descriptors(group); !freed) {
      return freed;
    }
    handle = context_.files.create(segment->file);
  }
  if (!handle) {
    context_.probe.hit("log.roll_failed");
    return fail("create " + segment->file.path(), std::move(handle.error()));
  }
  context_.probe.hit("log.rolled");
  segment->handle = std::move(*handle);
  segment->name_generation = ++names_changed_;
  segment->pinned = true;
  context_.files.pin();
  group.new_segments.push_back(std::move(segment));
  return {};
}

// Full segments keep their handles until they are synced, and tiny segments fill faster than a barrier comes
// by: only then does an append wait for the disk.
Result<void> SegmentedLog::sync_to_free_descriptors(const Group& group) {
  context_.probe.hit("log.append_waited_for_descriptors");
  std::vector<std::shared_ptr<Segment>> full;
  std::ranges::copy_if(unfinished_, std::back_inserter(full),
                       [](const auto& segment) { return segment->handle != nullptr; });
  full.insert(full.end(), group.new_segments.begin(), group.new_segments.end());
  for (const auto& segment : full) {
    if (auto synced = sync_segment(*segment); !synced) {
      return synced;
    }
    let_go_of_handle(*segment);
  }
  return {};
}

void SegmentedLog::publish(Group& group) {
  const AppendTimes now = appended_now(context_.clock);
  const auto date = [&now](Segment& segment, bool was_empty) {
    if (was_empty) {
      segment.times = now;
    }
    segment.times.last_wall = now.last_wall;
    segment.times.last = now.last;
  };
  Segment& grown = active();
  if (group.active_bytes > grown.bytes) {
    recent_.add(grown.base, grown.end, Position(grown.bytes));
    date(grown, grown.bytes == 0);
    grown.end = group.active_end;
    grown.bytes = group.active_bytes;
    grown.file_bytes = group.active_bytes;
  }
  std::int64_t synced = 0;
  for (auto& segment : group.new_segments) {
    date(*segment, true);
    segment->file_bytes = segment->bytes;
    synced += segment->synced_bytes;
    seal(segments_.back());
    segments_.push_back(std::move(segment));
  }
  if (!group.new_segments.empty()) {
    active().pinned = false;
    context_.files.unpin();
  }
  end_offset_ += group.records;
  size_bytes_ += group.bytes;
  unsynced_bytes_ += group.bytes - synced;
}

void SegmentedLog::seal(const std::shared_ptr<Segment>& segment) {
  segment->sealed = true;
  unfinished_.push_back(segment);
  if (segment->unsynced_bytes() == 0) {
    let_go_of_handle(*segment);
  } else if (!segment->pinned) {
    segment->pinned = true;
    context_.files.pin();
  }
}

std::unexpected<Error> SegmentedLog::roll_back(Group& group, Error error) {
  context_.probe.hit("log.group_rolled_back");
  active().index->drop_from(Position(active().bytes));  // whatever becomes of the files
  std::optional<Error> left_behind;
  const std::int64_t names_before = names_changed_;
  while (!group.new_segments.empty()) {
    Segment& newest = *group.new_segments.back();
    let_go_of_handle(newest);
    ++names_changed_;
    // Newest first, and nothing more after a failure: what stays is then a prefix of the group and no hole.
    if (!left_behind) {
      context_.probe.hit("log.roll_taken_back");
      if (auto removed = context_.files.remove(newest.file); !removed) {
        left_behind = std::move(removed.error());
      }
    }
    group.new_segments.pop_back();
  }
  // Durably, or the power could bring back names that the log has long grown past.
  if (auto synced = names_changed_ > names_before ? sync_names(names_changed_) : Result<void>(); !synced) {
    return std::unexpected(std::move(synced.error()));
  }
  if (!left_behind) {
    // Durably as well: the segment may be full without these bytes and never see a barrier again, and the
    // power could give them back in front of its successor, with the same offsets.
    auto cut = active().handle->truncate(active().bytes);
    if (cut) {
      cut = barrier(active());
    }
    if (!cut) {
      left_behind = std::move(cut.error());
    }
  }
  if (left_behind) {
    context_.probe.hit("log.roll_back_failed");
    return fail_log({error.code, error.message +
                                     "; and what was written of the group could not be removed: " +
                                     left_behind->message});
  }
  if (!may_work_later(error.code)) {
    return fail_log(std::move(error));
  }
  return std::unexpected(std::move(error));
}

}  // namespace booblik::log
