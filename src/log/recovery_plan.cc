#include "log/recovery_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "log/record.h"
#include "log/segment_reader.h"

namespace booblik::log {
namespace {

// Nothing from a file that speaks of more records than its bytes could hold: the log would go on behind them.
std::optional<FoundSummary> find_summary(env::Disk& disk, const std::string& directory, Offset base) {
  auto found = read_summary(disk, directory + "/" + index_file_name(base), base);
  const bool plausible = found && found->summary.end - base <= found->summary.bytes / kRecordBytesMin;
  return plausible ? std::move(found) : std::nullopt;
}

// A summary says that its segment was durable, and so was everything before.
void take_summary(RecoveryPlan& plan, const SegmentSummary& summary) {
  if (!plan.point || summary.end > plan.point->offset) {
    plan.point = {summary.end, summary.base, Position(summary.bytes)};
  }
}

Result<bool> holds_records(env::Disk& disk, const std::string& path, std::int64_t file_bytes) {
  constexpr std::int64_t kBlockBytes = 64 * 1024;
  auto file = disk.open(path, env::OpenMode::read_only);
  if (!file) {
    return fail("open " + path, std::move(file.error()));
  }
  SegmentReader reader(**file, file_bytes, kBlockBytes);
  const auto first = reader.check(Position());
  if (!first) {
    return fail("read " + path, first.error());
  }
  return first->state == RecordState::intact;
}

// The base of the newest segment that holds a record, or of the oldest of all. Behind it there may be names
// without content: a roll is in the directory before its records are on the disk.
Result<Offset> newest_with_records(env::Disk& disk, const std::string& directory, const RecoveryPlan& plan) {
  for (auto segment = plan.segments.rbegin(); segment + 1 != plan.segments.rend(); ++segment) {
    const bool vouched = segment->summary || (plan.point && segment->base < plan.point->offset);
    if (vouched) {
      return segment->base;
    }
    const auto holds =
        holds_records(disk, directory + "/" + segment_file_name(segment->base), segment->file_bytes);
    if (!holds) {
      return std::unexpected(holds.error());
    }
    if (*holds) {
      return segment->base;
    }
  }
  return plan.segments.front().base;
}

}  // namespace

bool RecoveryPlan::point_is_in(const SegmentFound& segment) const {
  return point && point->segment_base == segment.base && point->position.value() <= segment.file_bytes &&
         point->offset >= segment.base;
}

std::optional<Position> RecoveryPlan::not_durable_from(const SegmentFound& segment, Offset end) const {
  if (point && end <= point->offset) {
    return std::nullopt;
  }
  return point_is_in(segment) ? point->position : Position();
}

std::int64_t RecoveryPlan::bytes_to_scan() const {
  std::int64_t bytes = 0;
  for (const SegmentFound& segment : segments) {
    if (!segment.summary_fits()) {
      bytes += segment.file_bytes - (point_is_in(segment) ? point->position.value() : 0);
    }
  }
  return bytes;
}

Result<RecoveryPlan> plan_recovery(env::Disk& disk, const std::string& directory,
                                   const std::optional<PartitionCheckpoint>& checkpoint) {
  auto entries = disk.list(directory);
  if (!entries) {
    return fail("list " + directory, std::move(entries.error()));
  }
  RecoveryPlan plan;
  std::set<Offset> indexes;
  for (const env::DirectoryEntry& entry : *entries) {
    const FileName name = entry.is_regular ? parse_file_name(entry.name) : FileName{};
    if (name.kind == FileKind::segment) {
      plan.segments.push_back({.base = name.base, .file_bytes = entry.size, .summary = {}});
    } else if (name.kind == FileKind::index) {
      indexes.insert(name.base);
    } else {
      plan.foreign.push_back(entry.name);
    }
  }
  std::ranges::sort(plan.segments, {}, &SegmentFound::base);
  plan.has_checkpoint = checkpoint.has_value();
  if (checkpoint) {
    plan.point = {checkpoint->offset, checkpoint->segment_base, checkpoint->position};
  }
  for (SegmentFound& segment : plan.segments) {
    segment.has_index_file = indexes.erase(segment.base) > 0;
    if (segment.has_index_file) {
      segment.summary = find_summary(disk, directory, segment.base);
    }
    if (segment.summary) {
      take_summary(plan, segment.summary->summary);
    }
  }
  for (const Offset base : indexes) {
    const auto summary = find_summary(disk, directory, base);
    const bool says_more =
        summary && !plan.segments.empty() && summary->summary.end > plan.segments.front().base;
    if (says_more) {
      take_summary(plan, summary->summary);  // its segment is missing; what came after was vouched for by it
    } else {
      plan.orphan_indexes.push_back(index_file_name(base));
    }
  }
  plan.line = plan.point ? plan.point->offset : Offset();
  if (plan.segments.empty()) {
    return plan;
  }
  const auto newest = checkpoint ? newest_with_records(disk, directory, plan) : plan.segments.back().base;
  if (!newest) {
    return std::unexpected(newest.error());
  }
  plan.newest_with_records = *newest;
  plan.line = std::max(plan.line, *newest);
  return plan;
}

}  // namespace booblik::log
