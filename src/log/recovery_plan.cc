#include "log/recovery_plan.h"

#include <algorithm>
#include <set>

namespace booblik::log {
namespace {

// A summary says that its segment was durable, and so was everything before.
void take_summary(RecoveryPlan& plan, const SegmentSummary& summary) {
  if (!plan.point || summary.end > plan.point->offset) {
    plan.point = {summary.end, summary.base, Position(summary.bytes)};
  }
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
      segment.summary = read_summary(disk, directory + "/" + index_file_name(segment.base), segment.base);
    }
    if (segment.summary) {
      take_summary(plan, *segment.summary);
    }
  }
  for (const Offset base : indexes) {
    const std::string name = index_file_name(base);
    const auto summary = read_summary(disk, directory + "/" + name, base);
    const bool says_more = summary && !plan.segments.empty() && summary->end > plan.segments.front().base;
    if (says_more) {
      take_summary(plan, *summary);  // its segment is missing; what came after was vouched for by it
    } else {
      plan.orphan_indexes.push_back(name);
    }
  }
  plan.line = plan.point ? plan.point->offset : Offset();
  if (!checkpoint && !plan.segments.empty()) {
    plan.line = std::max(plan.line, plan.segments.back().base);
  }
  return plan;
}

}  // namespace booblik::log
