#include "log/recovery_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace booblik::log {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(5);
constexpr std::size_t kLinesMax = 20;

env::Level level_of(Outcome outcome) {
  if (is_damage(outcome)) {
    return env::Level::error;
  }
  const bool expected = outcome == Outcome::zero_tail || outcome == Outcome::foreign_file;
  return expected ? env::Level::info : env::Level::warning;
}

std::string offsets(const Finding& finding) {
  return fmt::format("offsets {}..{}", finding.from.value(), finding.to.value() - 1);
}

}  // namespace

std::string describe(const Finding& finding) {
  const std::string where = fmt::format("{} at byte {}", finding.file, finding.position.value());
  switch (finding.outcome) {
    case Outcome::clean_end:
      return fmt::format("{}: clean end", where);
    case Outcome::zero_tail:
      return fmt::format("{}: {} bytes of unwritten space behind the end were cut", where, finding.bytes);
    case Outcome::torn_tail:
      return fmt::format(
          "{}: the log ends here; {} bytes behind it were never synced, do not make a record, and were cut",
          where, finding.bytes);
    case Outcome::trailing_bytes:
      return fmt::format(
          "{}: {} bytes behind the last record of the segment belong to no record and are ignored", where,
          finding.bytes);
    case Outcome::damaged_records:
      return fmt::format("{}: damaged: {} cannot be read; the records before and after are served", where,
                         offsets(finding));
    case Outcome::short_segment:
      return fmt::format("{}: the file ends too early: {} were durable and are missing", where,
                         offsets(finding));
    case Outcome::gap:
      return fmt::format("{}: the next segment begins too late: {} are missing", where, offsets(finding));
    case Outcome::overlap:
      return fmt::format("{}: the name is wrong: an earlier segment holds {}, too, and is served instead",
                         finding.file, offsets(finding));
    case Outcome::missing_log:
      return fmt::format("all segments are missing; the log goes on at offset {}", finding.to.value());
    case Outcome::unreachable:
      return fmt::format("{}: {} bytes lie behind the end of the log, were never synced, and were removed",
                         finding.file, finding.bytes);
    case Outcome::foreign_file:
      return fmt::format("{}: not a file of this broker, left alone", finding.file);
    case Outcome::wrong_index:
      return fmt::format(
          "{}: its summary ({}) does not fit the segment, which was read as a whole instead: the index file "
          "belongs to other bytes, or the segment was changed",
          finding.file, offsets(finding));
  }
  return finding.file;
}

void log_findings(env::Logger& logger, const std::string& partition, const RecoveryReport& report) {
  const std::size_t lines = std::min(report.findings.size(), kLinesMax);
  for (std::size_t i = 0; i < lines; ++i) {
    const Finding& finding = report.findings[i];
    logger.write(level_of(finding.outcome), fmt::format("{}: {}", partition, describe(finding)));
  }
  const auto more = report.findings_total - static_cast<std::int64_t>(lines);
  if (more > 0) {
    logger.write(env::Level::warning, fmt::format("{}: and {} more findings", partition, more));
  }
}

Progress::Progress(env::Clock& clock, env::Logger& logger, std::string partition, std::int64_t bytes_total)
    : clock_(clock),
      logger_(logger),
      partition_(std::move(partition)),
      bytes_total_(bytes_total),
      last_line_(clock.now()) {}

void Progress::add(std::int64_t bytes) {
  bytes_done_ += bytes;
  const Instant now = clock_.now();
  if (now - last_line_ < kLineEvery) {
    return;
  }
  last_line_ = now;
  const std::int64_t percent =
      bytes_total_ > 0 ? std::min<std::int64_t>(100, bytes_done_ * 100 / bytes_total_) : 100;
  logger_.write(env::Level::info,
                fmt::format("{}: recovering, {} % of {} MiB", partition_, percent, bytes_total_ >> 20));
}

}  // namespace booblik::log
