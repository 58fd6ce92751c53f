#include "log/recovery_report.h"

#include <algorithm>

#include "log/record.h"

#include "base/check.h"

namespace booblik::log {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::clean_end:
      return "clean end";
    case Outcome::zero_tail:
      return "zero tail";
    case Outcome::torn_tail:
      return "torn tail";
    case Outcome::trailing_bytes:
      return "trailing bytes";
    case Outcome::damaged_records:
      return "damaged records";
    case Outcome::short_segment:
      return "short segment";
    case Outcome::gap:
      return "gap between segments";
    case Outcome::overlap:
      return "overlap of segments";
    case Outcome::missing_log:
      return "missing log";
    case Outcome::unreachable:
      return "unreachable segment";
    case Outcome::foreign_file:
      return "foreign file";
    case Outcome::wrong_index:
      return "wrong index file";
  }
  BOOBLIK_CHECK(false, "every outcome has a name");
}

bool is_damage(Outcome outcome) {
  switch (outcome) {
    case Outcome::damaged_records:
    case Outcome::short_segment:
    case Outcome::gap:
    case Outcome::overlap:
    case Outcome::missing_log:
      return true;
    default:
      return false;
  }
}

void RecoveryReport::add(Finding finding) {
  if (finding.outcome == Outcome::clean_end) {
    return;
  }
  ++findings_total;
  if (is_damage(finding.outcome)) {
    ++damage_total;
    // Files that contradict each other can claim more than there are offsets.
    damaged_offsets += std::min(finding.to - finding.from, kOffsetMax.value() - damaged_offsets);
  }
  if (findings.size() < kFindingsMax) {
    findings.push_back(std::move(finding));
  }
}

}  // namespace booblik::log
