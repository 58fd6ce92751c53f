#include "log/verify_summary.h"

#include "log/segment_reader.h"
#include "log/stretch.h"

namespace booblik::log {
namespace {

constexpr std::int64_t kBlockBytes = 16 * 1024;

// Where the records begin that lead to the end.
std::optional<Anchor> last_place(const FoundSummary& found) {
  const SegmentSummary& summary = found.summary;
  Anchor place{summary.base, Position(), std::nullopt};
  if (found.last_entry.has_value() != (summary.entries > 0)) {
    return std::nullopt;
  }
  if (const auto& entry = found.last_entry) {
    place = anchor_of(*entry);
  }
  if (place.offset < summary.base || place.offset >= summary.end || place.position < Position() ||
      place.position >= Position(summary.bytes)) {
    return std::nullopt;
  }
  if (!summary.damage.empty() && summary.damage.back().end > place.position) {
    place = {summary.damage.back().to, summary.damage.back().end, std::nullopt};
  }
  return place;
}

Result<bool> leads_to_the_end(env::File& file, const FoundSummary& found) {
  const auto from = last_place(found);
  if (!from) {
    return false;
  }
  const Anchor end{found.summary.end, Position(found.summary.bytes), std::nullopt};
  if (from->position == end.position) {
    return from->offset == end.offset;
  }
  const auto led = walk(file, {*from, end}, from->offset);
  if (!led) {
    return std::unexpected(led.error());
  }
  return led->has_value();
}

Result<bool> is_record(SegmentReader& reader, Position position) {
  const auto record = reader.check(position);
  if (!record) {
    return std::unexpected(record.error());
  }
  return record->state == RecordState::intact;
}

Result<bool> damage_holds(SegmentReader& reader, const SegmentSummary& summary) {
  for (std::size_t i = 0; i < summary.damage.size(); ++i) {
    const DamagedRange& range = summary.damage[i];
    const auto begins = is_record(reader, range.position);
    if (!begins) {
      return begins;
    }
    if (*begins || range.from == range.to) {
      return false;
    }
    const bool touches_next = i + 1 < summary.damage.size() && summary.damage[i + 1].position == range.end;
    if (touches_next || range.end >= Position(summary.bytes)) {
      continue;
    }
    const auto follows = is_record(reader, range.end);
    if (!follows || !*follows) {
      return follows;
    }
  }
  return true;
}

}  // namespace

Result<bool> summary_holds(env::File& file, const FoundSummary& found) {
  const SegmentSummary& summary = found.summary;
  auto holds = leads_to_the_end(file, found);
  if (!holds || !*holds) {
    return holds;
  }
  SegmentReader reader(file, summary.file_bytes, kBlockBytes);
  const auto goes_on = is_record(reader, Position(summary.bytes));
  if (!goes_on || *goes_on) {
    return goes_on ? Result<bool>(false) : goes_on;
  }
  return damage_holds(reader, summary);
}

}  // namespace booblik::log
