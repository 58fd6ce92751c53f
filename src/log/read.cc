#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "log/index_file.h"
#include "log/recovery_messages.h"
#include "log/scan.h"
#include "log/segmented_log.h"
#include "log/stretch.h"

namespace booblik::log {
namespace {

const DamagedRange* first_damage_behind(const Segment& segment, Offset offset) {
  const auto found = std::ranges::upper_bound(segment.damage, offset, {}, &DamagedRange::to);
  return found == segment.damage.end() ? nullptr : &*found;
}

// Where the bytes end that can be served from a record outside of damage.
std::int64_t readable_end(const Segment& segment, Offset offset) {
  const DamagedRange* damage = first_damage_behind(segment, offset);
  return damage == nullptr ? segment.bytes : damage->position.value();
}

Stretch stretch_around(const Segment& segment, const SegmentIndex& index, Offset offset) {
  const SegmentIndex::Neighbours entries = index.find(offset);
  Stretch stretch{{segment.base, Position(), std::nullopt},
                  {segment.end, Position(segment.bytes), std::nullopt}};
  if (entries.at_or_below) {
    stretch.begin = anchor_of(*entries.at_or_below);
  }
  if (entries.above && entries.above->offset < stretch.end.offset) {
    stretch.end = anchor_of(*entries.above);
  }
  // Headers do not lead through damage.
  for (const DamagedRange& range : segment.damage) {
    if (range.to <= offset && range.to > stretch.begin.offset) {
      stretch.begin = {range.to, range.end, std::nullopt};
    }
    if (range.from > offset && range.from < stretch.end.offset) {
      stretch.end = {range.from, range.position, std::nullopt};
    }
  }
  return stretch;
}

// The records do not end where the segment was taken to end, so nothing leads to its end: what follows the
// last place that is known is damaged.
void give_up_tail(ScanResult& result, const SegmentIndex& index, Offset end, Position bytes) {
  std::erase_if(result.damage,
                [&](const DamagedRange& range) { return range.to >= end || range.end > bytes; });
  DamagedRange tail{index.base(), end, Position(), bytes};
  if (!result.damage.empty()) {
    tail.from = result.damage.back().to;
    tail.position = result.damage.back().end;
  }
  const auto entry = index.find(end + -1).at_or_below;
  if (entry && entry->offset > tail.from) {
    tail.from = entry->offset;
    tail.position = std::min(entry->position, bytes);
  }
  result.damage.push_back(tail);
}

}  // namespace

std::unexpected<Error> SegmentedLog::out_of_range(Offset offset) const {
  return fail(ErrorCode::offset_out_of_range,
              fmt::format("{}: offset {} lies outside of {}..{}", id_.to_string(), offset.value(),
                          start_offset().value(), end_offset_.value()));
}

std::unexpected<Error> SegmentedLog::damaged(const Segment& segment, Offset offset) const {
  return fail(ErrorCode::damaged,
              fmt::format("{}: offset {} lies in a damaged or missing part of the log, at or behind {}",
                          id_.to_string(), offset.value(), segment_file_name(segment.base)));
}

const std::shared_ptr<Segment>& SegmentedLog::segment_of(Offset offset) const {
  const auto above =
      std::ranges::upper_bound(segments_, offset, {}, [](const auto& segment) { return segment->first; });
  BOOBLIK_CHECK(above != segments_.begin(), "the offset is not below the start of the log");
  return *std::prev(above);
}

Result<Slice> SegmentedLog::read(Offset from, std::int64_t max_bytes) {
  if (from < start_offset() || from > end_offset_) {
    return out_of_range(from);
  }
  if (from == end_offset_) {
    return Slice{.high_watermark = end_offset_, .file = nullptr, .position = {}};
  }
  const auto segment = segment_of(from);
  auto place = locate(*segment, from);
  if (segment->file.removed()) {
    context_.probe.hit("log.removed_under_read");
    return out_of_range(from);
  }
  if (!place) {
    return std::unexpected(std::move(place.error()));
  }
  const std::int64_t there = readable_end(*segment, from) - place->position.value();
  return Slice{.high_watermark = end_offset_,
               .file = std::move(place->file),
               .position = place->position,
               .bytes = std::min(max_bytes, there)};
}

Result<PartitionLog::Available> SegmentedLog::available(Offset from) {
  if (from < start_offset() || from > end_offset_) {
    return out_of_range(from);
  }
  if (from == end_offset_) {
    // A segment with no room for a record is as good as sealed: what comes next begins another.
    const std::int64_t room = options_.segment_capacity_bytes - active().bytes;
    return Available{.bytes_now = 0,
                     .bytes_ever = room > kRecordHeaderBytes ? room : options_.segment_capacity_bytes};
  }
  const auto segment = segment_of(from);
  const auto place = locate(*segment, from);
  if (segment->file.removed()) {
    return out_of_range(from);
  }
  if (!place) {
    return std::unexpected(place.error());
  }
  const std::int64_t now = readable_end(*segment, from);
  const bool grows = !segment->sealed && now == segment->bytes;
  const std::int64_t ever = grows ? std::max(now, options_.segment_capacity_bytes) : now;
  return Available{.bytes_now = now - place->position.value(), .bytes_ever = ever - place->position.value()};
}

// A lookup that meets other bytes than it should has the index made anew once; what cannot be found then is
// damage.
Result<SegmentedLog::Place> SegmentedLog::locate(Segment& segment, Offset offset) {
  auto file = segment.handle != nullptr ? Result<std::shared_ptr<env::File>>(segment.handle)
                                        : context_.files.get(segment.file);
  if (!file) {
    return std::unexpected(std::move(file.error()));
  }
  if (const auto recent = recent_.find(segment.base, offset); recent && segment.damage.empty()) {
    return Place{std::move(*file), *recent};
  }
  auto index = index_of(segment, **file);
  for (bool rebuilt = false;;) {
    if (!index) {
      return std::unexpected(std::move(index.error()));
    }
    const DamagedRange* damage = first_damage_behind(segment, offset);
    if (offset >= segment.end || (damage != nullptr && damage->from <= offset)) {
      return damaged(segment, offset);
    }
    const std::uint64_t damage_changes = segment.damage_changes;
    const Stretch stretch = stretch_around(segment, **index, offset);
    // Damage that an index file tells of may contradict its entries.
    const bool agrees = stretch.end.position.value() <= readable_end(segment, offset);
    auto position = agrees ? walk(**file, stretch, offset) : Result<std::optional<Position>>(std::nullopt);
    if (!position) {
      return std::unexpected(std::move(position.error()));
    }
    if (segment.damage_changes != damage_changes) {
      // While this one read headers, another lookup has found what is damaged, perhaps this record.
      context_.probe.hit("log.damage_found_under_lookup");
      index = index_of(segment, **file);
      continue;
    }
    if (*position) {
      return Place{std::move(*file), **position};
    }
    if (std::exchange(rebuilt, true)) {
      return damaged(segment, offset);
    }
    context_.probe.hit("log.lookup_met_other_bytes");
    index = rebuild_index(segment, **file, index->get());
  }
}

Result<std::shared_ptr<const SegmentIndex>> SegmentedLog::index_of(Segment& segment, env::File& file) {
  if (segment.index != nullptr) {
    return segment.index;
  }
  if (auto cached = context_.indexes.find(segment.file.number())) {
    return cached;
  }
  auto loaded = read_index_file(context_.disk, index_path(segment), segment.base,
                                options_.index_interval_bytes, segment.bytes);
  if (!loaded) {
    return std::unexpected(std::move(loaded.error()));
  }
  const bool fits = *loaded && (*loaded)->summary && (*loaded)->summary->end == segment.end &&
                    (*loaded)->summary->bytes == segment.bytes;
  if (!fits) {
    return rebuild_index(segment, file, nullptr);
  }
  context_.probe.hit("log.index_loaded");
  auto index = std::make_shared<const SegmentIndex>(std::move((*loaded)->index));
  context_.indexes.put(segment.file.number(), index);
  return index;
}

Result<std::shared_ptr<const SegmentIndex>> SegmentedLog::rebuild_index(Segment& segment, env::File& file,
                                                                        const SegmentIndex* known) {
  context_.probe.hit("log.index_rebuilt_by_read");
  context_.logger.write(env::Level::warning, fmt::format("{}: making the index of {} anew", id_.to_string(),
                                                         segment_file_name(segment.base)));
  ScanRequest request{.file_bytes = segment.bytes,
                      .offset = segment.base,
                      .position = Position(),
                      .ends_from = kNowhere,
                      .expected_end = segment.end,
                      .anchors = {},
                      .progress = {}};
  for (std::size_t i = 0; known != nullptr && i < known->size() && (*known)[i].offset < segment.end; ++i) {
    request.anchors.push_back(anchor_of((*known)[i]));
  }
  for (const DamagedRange& range : segment.damage) {
    request.anchors.push_back({range.to, range.end, std::nullopt});
  }
  std::ranges::sort(request.anchors, {}, &Anchor::position);
  const Offset end = segment.end;
  const Position bytes(segment.bytes);
  auto index = std::make_shared<SegmentIndex>(segment.base, options_.index_interval_bytes);
  auto result = scan_segment(file, std::move(request), *index);
  if (!result) {
    return std::unexpected(std::move(result.error()));
  }
  if (result->end < end) {
    result->damage.push_back({result->end, end, result->end_position, bytes});
  } else if (result->end > end || result->end_position != bytes) {
    give_up_tail(*result, *index, end, bytes);
  }
  take_damage(segment, std::move(result->damage));
  ++report_.indexes_rebuilt;
  if (segment.index != nullptr) {
    return replace_live_index(segment, std::move(index), bytes);
  }
  context_.indexes.put(segment.file.number(), index);
  if (!segment.index_file_busy && !segment.file.removed()) {
    segment.index_file_busy = true;
    segment.index_file_bytes = 0;
    const SegmentSummary summary = summarize(segment, *index);
    std::ignore = write_index_file(context_.disk, index_path(segment), segment, *index, bytes, &summary);
    segment.index_file_busy = false;
  }
  return index;
}

// Of a segment that is appended to: what was added behind `scanned` meanwhile came from the records
// themselves.
std::shared_ptr<const SegmentIndex> SegmentedLog::replace_live_index(Segment& segment,
                                                                     std::shared_ptr<SegmentIndex> index,
                                                                     Position scanned) {
  if (segment.index_file_busy) {
    return index;  // its writer counts entries; the next lookup that needs it tries again
  }
  for (std::size_t i = 0; i < segment.index->size(); ++i) {
    if (const IndexEntry entry = (*segment.index)[i]; entry.position >= scanned && index->ascends(entry)) {
      index->add(entry);
    }
  }
  segment.index = std::move(index);
  segment.index_file_bytes = 0;
  segment.index_entries_written = 0;
  return segment.index;
}

void SegmentedLog::take_damage(Segment& segment, std::vector<DamagedRange> damage) {
  for (const DamagedRange& range : damage) {
    if (std::ranges::find(segment.damage, range) != segment.damage.end()) {
      continue;
    }
    const Finding finding{.outcome = Outcome::damaged_records,
                          .file = segment_file_name(segment.base),
                          .position = range.position,
                          .from = range.from,
                          .to = range.to,
                          .bytes = range.end - range.position};
    context_.logger.write(env::Level::error, id_.to_string() + ": " + describe(finding));
    context_.probe.hit("log.damage_found_by_read");
    report_.add(finding);
  }
  segment.damage_changes += segment.damage == damage ? 0U : 1U;
  segment.damage = std::move(damage);
}

}  // namespace booblik::log
