#include "log/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/index_file.h"
#include "log/scan.h"
#include "log/stretch.h"
#include "log/verify_summary.h"

namespace booblik::log {
namespace {

Examined take_summary(const Examination& examination, Segment& segment) {
  const SegmentSummary& summary = examination.found.summary->summary;
  segment.end = summary.end;
  segment.bytes = summary.bytes;
  segment.synced_bytes = summary.bytes;
  segment.damage = summary.damage;
  segment.index_file_complete = true;
  segment.index.reset();
  return {
      .stopped_at = summary.bytes == summary.file_bytes ? RecordState::end_of_file : RecordState::unwritten,
      .file = nullptr};
}

// Whether the headers lead from the last entry of the index in front of the recovery point exactly to it.
// Then neither of the two is wrong, and what is below it need not be read.
bool index_leads_to(const RecoveryPoint& point, env::File& file, const SegmentIndex& index) {
  if (index.size() == 0) {
    return false;
  }
  const IndexEntry last = index[index.size() - 1];
  const Stretch stretch{anchor_of(last), {point.offset, point.position, std::nullopt}};
  const auto found = walk(file, stretch, last.offset);
  return found && *found;
}

std::vector<Anchor> anchors_of(const SegmentIndex& index) {
  std::vector<Anchor> anchors;
  for (std::size_t i = 0; i < index.size(); ++i) {
    anchors.push_back(anchor_of(index[i]));
  }
  return anchors;
}

class Scanner {
 public:
  Scanner(const Examination& examination, Segment& segment) : examination_(examination), segment_(segment) {}

  Result<Examined> run() {
    auto file = examination_.context.files.open_to_write(segment_.file);
    if (!file) {
      return std::unexpected(std::move(file.error()));
    }
    auto known = load_index();
    if (!known) {
      return std::unexpected(std::move(known.error()));
    }
    auto result = scan_segment(**file, request(**file, *known), *segment_.index);
    if (!result) {
      return std::unexpected(std::move(result.error()));
    }
    note(*result);
    return Examined{.stopped_at = result->stopped_at, .file = std::move(*file)};
  }

 private:
  Result<std::optional<IndexFile>> load_index() {
    if (!examination_.found.has_index_file) {
      return std::nullopt;
    }
    return read_index_file(examination_.context.disk, examination_.index_path, segment_.base,
                           segment_.index->interval_bytes(), segment_.file_bytes);
  }

  ScanRequest request(env::File& file, std::optional<IndexFile>& known) {
    const RecoveryPlan& plan = examination_.plan;
    const bool has_point = plan.point_is_in(examination_.found);
    ScanRequest request{.file_bytes = segment_.file_bytes,
                        .offset = segment_.base,
                        .position = Position(),
                        .ends_from = ends_from(),
                        .expected_end = examination_.successor,
                        .anchors = {},
                        .progress = [this](std::int64_t bytes) { examination_.progress.add(bytes); }};
    if (!request.expected_end && plan.line > segment_.base) {
      request.expected_end = plan.line;
    }
    if (has_point && known && begin_at_point(file, *known)) {
      request.offset = plan.point->offset;
      request.position = plan.point->position;
      return request;
    }
    // An index that does not lead to the recovery point is not believed about anything.
    if (has_point) {
      request.anchors.push_back({plan.point->offset, plan.point->position, std::nullopt});
    } else if (known) {
      request.anchors = anchors_of(known->index);
    }
    ++examination_.report.indexes_rebuilt;
    examination_.context.probe.hit("recovery.index_rebuilt");
    return request;
  }

  // The log does not end in a segment that another with records follows, however far its own records lead:
  // what is found in it must not depend on the line, which the next start draws elsewhere.
  [[nodiscard]] Offset ends_from() const {
    const RecoveryPlan& plan = examination_.plan;
    return segment_.base < plan.newest_with_records ? kNowhere : plan.line;
  }

  bool begin_at_point(env::File& file, IndexFile& known) {
    const RecoveryPoint& point = *examination_.plan.point;
    const std::size_t entries = known.index.size();
    known.index.drop_from(point.position);
    if (!index_leads_to(point, file, known.index)) {
      return false;
    }
    if (known.index.size() == entries && !known.summary) {
      segment_.index_file_bytes = known.valid_bytes;
      segment_.index_entries_written = entries;
    }
    examination_.context.probe.hit("recovery.began_at_checkpoint");
    *segment_.index = std::move(known.index);
    scanned_from_ = point.position;
    return true;
  }

  void note(ScanResult& result) {
    segment_.end = result.end;
    segment_.bytes = result.end_position.value();
    segment_.synced_bytes = segment_.bytes;
    segment_.damage = std::move(result.damage);
    ++examination_.report.segments_scanned;
    examination_.report.bytes_scanned += result.end_position - scanned_from_;
  }

  const Examination& examination_;
  Segment& segment_;
  Position scanned_from_;
};

void date(const Examination& examination, Segment& segment) {
  WallTime first;
  WallTime last;
  if (examination.found.summary) {
    first = examination.found.summary->summary.first_append;
    last = examination.found.summary->summary.last_append;
  } else if (examination.checkpoint && examination.checkpoint->segment_base == segment.base) {
    first = examination.checkpoint->first_append;
    last = examination.checkpoint->last_append;
  }
  segment.times = appended_at(examination.context.clock, first, last);
}

// A segment that cannot be read here is left to its readers, who get the error and are told of it: a start
// does not fail for it.
bool summary_lies(const Examination& examination, Segment& segment) {
  const auto file = examination.context.files.get(segment.file);
  const auto holds =
      file ? summary_holds(**file, *examination.found.summary) : Result<bool>(std::unexpected(file.error()));
  if (!holds) {
    examination.context.logger.write(
        env::Level::warning, fmt::format("{} was not compared with its index file: {}", segment.file.path(),
                                         holds.error().message));
    return false;
  }
  return !*holds;
}

}  // namespace

Result<Examined> examine_segment(const Examination& examination, Segment& segment) {
  segment.file_bytes = examination.found.file_bytes;
  date(examination, segment);
  if (!examination.found.summary_fits()) {
    return Scanner(examination, segment).run();
  }
  if (!summary_lies(examination, segment)) {
    examination.context.probe.hit("recovery.summary_used");
    return take_summary(examination, segment);
  }
  examination.context.probe.hit("recovery.summary_lied");
  examination.report.add({.outcome = Outcome::wrong_index,
                          .file = index_file_name(segment.base),
                          .position = Position(),
                          .from = segment.base,
                          .to = examination.found.summary->summary.end,
                          .bytes = segment.file_bytes});
  return Scanner(examination, segment).run();
}

}  // namespace booblik::log
