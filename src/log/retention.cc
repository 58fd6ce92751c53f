#include <utility>

#include "log/segmented_log.h"

namespace booblik::log {

Result<std::int64_t> SegmentedLog::apply_retention(const RetentionLimits& limits) {
  std::int64_t removed_segments = 0;
  while (segments_.size() > 1 && !failure_) {
    const auto oldest = segments_.front();
    const bool too_many_bytes = limits.bytes && size_bytes_ - oldest->bytes >= *limits.bytes;
    const bool too_old = limits.age && context_.clock.now() - oldest->times.last > *limits.age;
    // What is not durable yet stays: the checkpoint must not name a segment that is gone.
    const bool durable = oldest->unsynced_bytes() == 0 && vouched_.offset >= oldest->end;
    if (!durable || (!too_many_bytes && !too_old)) {
      break;
    }
    // The power must not take both: the log would go on at an older place. One without records was not
    // synced.
    if (const std::int64_t successor = segments_[1]->name_generation; names_synced_ < successor) {
      if (auto synced = sync_names(successor); !synced) {
        return std::unexpected(std::move(synced.error()));
      }
      continue;  // others went on meanwhile
    }
    context_.probe.hit(too_many_bytes ? "log.retention_by_bytes" : "log.retention_by_age");
    auto removed = context_.files.remove(oldest->file);
    if (!removed && removed.error().code != ErrorCode::not_found) {
      context_.probe.hit("log.retention_failed");
      return fail("remove " + oldest->file.path(), std::move(removed.error()));
    }
    // One owner is here, any other one reads or sends from it.
    if (removed && removed->use_count() > 1) {
      context_.probe.hit("log.retention_took_pinned");
    }
    segments_.erase(segments_.begin());
    size_bytes_ -= oldest->bytes;
    context_.indexes.erase(oldest->file.number());
    std::ignore = context_.disk.remove(index_path(*oldest));
    ++removed_segments;
    // One by one: if the power took a later removal and not an earlier one, the log would have a gap.
    if (auto synced = sync_names(++names_changed_); !synced) {
      return std::unexpected(std::move(synced.error()));
    }
    if (removed) {
      context_.files.reclaim(oldest->file, std::move(*removed));
    }
  }
  return removed_segments;
}

}  // namespace booblik::log
