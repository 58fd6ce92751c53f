#include <algorithm>
#include <utility>

#include "log/index_file.h"
#include "log/segmented_log.h"

namespace booblik::log {

PartitionCheckpoint SegmentedLog::written_so_far() const {
  return {.id = id_,
          .offset = end_offset_,
          .segment_base = active().base,
          .position = Position(active().bytes),
          .first_append = active().times.first_wall,
          .last_append = active().times.last_wall};
}

Result<Offset> SegmentedLog::sync() {
  if (failure_) {
    return std::unexpected(*failure_);
  }
  PartitionCheckpoint target = written_so_far();
  const std::int64_t names = names_changed_;
  std::vector<std::shared_ptr<Segment>> unsynced(unfinished_.begin(), unfinished_.end());
  unsynced.push_back(segments_.back());
  std::erase_if(unsynced, [](const auto& segment) { return segment->unsynced_bytes() == 0; });
  if (unsynced.size() > 1) {
    context_.probe.hit("log.barrier_over_several_segments");
  }
  for (const auto& segment : unsynced) {
    if (auto synced = sync_segment(*segment); !synced) {
      return std::unexpected(std::move(synced.error()));
    }
    if (segment->unsynced_bytes() > 0) {
      context_.probe.hit("log.written_during_barrier");
    }
    if (segment->sealed && segment->unsynced_bytes() == 0) {
      let_go_of_handle(*segment);
    }
  }
  if (auto synced = sync_names(names); !synced) {
    return std::unexpected(std::move(synced.error()));
  }
  if (target.offset >= vouched_.offset) {
    vouched_ = std::move(target);
  }
  finish_index_files();
  return vouched_.offset;
}

// Two fibers may be in here for the same segment: the one that syncs, and an append that needs its
// descriptor. An error is told to one of two calls that overlap, so neither believes a success before it
// knows how the other ended.
Result<void> SegmentedLog::sync_segment(Segment& segment) {
  const std::int64_t bytes = segment.bytes;
  if (segment.synced_bytes >= bytes) {
    return {};
  }
  auto synced = barrier(segment);
  const auto others = segment.syncs_in_flight;
  while (synced && !failure_ &&
         std::ranges::find_first_of(segment.syncs_in_flight, others) != segment.syncs_in_flight.end()) {
    context_.probe.hit("log.barriers_overlapped");
    synced = barrier(segment);
  }
  if (!synced) {
    return fail_log({synced.error().code, "sync " + segment.file.path() + ": " + synced.error().message});
  }
  if (failure_) {
    return std::unexpected(*failure_);
  }
  if (bytes > segment.synced_bytes) {
    // The bytes of a group that is not published yet are not counted yet.
    const bool published = segment.base < end_offset_ || segment.sealed;
    unsynced_bytes_ -= published ? bytes - segment.synced_bytes : 0;
    segment.synced_bytes = bytes;
  }
  return {};
}

Result<void> SegmentedLog::barrier(Segment& segment) {
  const auto handle = segment.handle;
  if (handle == nullptr) {
    return {};  // the other has synced it, and let go
  }
  const std::uint64_t number = ++segment.syncs_begun;
  segment.syncs_in_flight.push_back(number);
  auto synced = handle->sync_data();
  std::erase(segment.syncs_in_flight, number);
  return synced;
}

void SegmentedLog::let_go_of_handle(Segment& segment) {
  if (segment.handle != nullptr) {
    context_.files.keep(segment.file, std::exchange(segment.handle, nullptr));
  }
  if (std::exchange(segment.pinned, false)) {
    context_.files.unpin();
  }
}

Result<void> SegmentedLog::sync_names(std::int64_t generation) {
  if (names_synced_ >= generation) {
    return {};
  }
  if (auto synced = context_.disk.sync_directory(directory_); !synced) {
    context_.probe.hit("log.names_not_synced");
    return fail_log({synced.error().code, "sync " + directory_ + ": " + synced.error().message});
  }
  names_synced_ = std::max(names_synced_, generation);
  return {};
}

// A summary vouches for its segment, so it is written when the bytes and the name are durable, in order.
void SegmentedLog::finish_index_files() {
  while (!unfinished_.empty()) {
    const auto segment = unfinished_.front();
    const bool durable = segment->unsynced_bytes() == 0 && segment->name_generation <= names_synced_;
    if (!durable || segment->index_file_busy) {
      return;
    }
    unfinished_.pop_front();
    if (!segment->file.removed()) {
      finish_index_file(*segment);
    }
  }
}

void SegmentedLog::finish_index_file(Segment& segment) {
  segment.index_file_busy = true;
  const auto index = segment.index;
  const SegmentSummary summary = summarize(segment, *index);
  const auto written = write_index_file(context_.disk, index_path(segment), segment, *index,
                                        Position(segment.bytes), &summary);
  segment.index_file_busy = false;
  if (segment.file.removed()) {
    context_.probe.hit("log.removed_under_index_writer");
    std::ignore = context_.disk.remove(index_path(segment));
    return;
  }
  // Without the file the index is made anew when it is needed and no longer in memory.
  segment.index_file_complete = written.has_value();
  context_.indexes.put(segment.file.number(), index);
  segment.index.reset();
}

void SegmentedLog::persist_index() {
  const auto segment = segments_.back();
  const bool has_entries = segment->index->size() > segment->index_entries_written;
  if (!has_entries || segment->index_file_busy || vouched_.segment_base != segment->base) {
    return;
  }
  segment->index_file_busy = true;
  std::ignore = write_index_file(context_.disk, index_path(*segment), *segment, *segment->index,
                                 vouched_.position, nullptr);
  segment->index_file_busy = false;
}

}  // namespace booblik::log
