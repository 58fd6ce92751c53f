#include "log/recovery_table.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace booblik::log {
namespace {

struct Row {
  EndsAt ends_at;
  Behind behind;
  Verdict verdict;
};

using enum EndsAt;

constexpr std::array kTable{
    Row{newest_at_line, Behind::nothing, {Outcome::clean_end, Action::keep}},
    Row{newest_at_line, Behind::zeros, {Outcome::zero_tail, Action::cut}},
    Row{newest_at_line, Behind::bytes, {Outcome::torn_tail, Action::cut}},

    Row{newest_below_line, Behind::nothing, {Outcome::short_segment, Action::seal}},
    Row{newest_below_line, Behind::zeros, {Outcome::short_segment, Action::seal}},
    Row{newest_below_line, Behind::bytes, {Outcome::damaged_records, Action::seal}},

    Row{successor, Behind::nothing, {Outcome::clean_end, Action::keep}},
    // Preallocated by the original broker, which does not cut a segment when it rolls.
    Row{successor, Behind::zeros, {Outcome::clean_end, Action::keep}},
    Row{successor, Behind::bytes, {Outcome::trailing_bytes, Action::keep}},

    // The power went between a roll and the barrier that would have covered both segments; the later ones are
    // names without a record.
    Row{hole_at_line, Behind::nothing, {Outcome::torn_tail, Action::end_log}},
    Row{hole_at_line, Behind::zeros, {Outcome::torn_tail, Action::end_log}},
    Row{hole_at_line, Behind::bytes, {Outcome::torn_tail, Action::end_log}},

    Row{hole_below_line, Behind::nothing, {Outcome::gap, Action::keep}},
    Row{hole_below_line, Behind::zeros, {Outcome::gap, Action::keep}},
    Row{hole_below_line, Behind::bytes, {Outcome::damaged_records, Action::keep}},

    // The name of a group that failed and was rolled back came back with the power, without a record.
    Row{overlap_at_line, Behind::nothing, {Outcome::clean_end, Action::end_log}},
    Row{overlap_at_line, Behind::zeros, {Outcome::zero_tail, Action::end_log}},
    Row{overlap_at_line, Behind::bytes, {Outcome::torn_tail, Action::end_log}},

    Row{overlap_below_line, Behind::nothing, {Outcome::overlap, Action::keep}},
    Row{overlap_below_line, Behind::zeros, {Outcome::overlap, Action::keep}},
    Row{overlap_below_line, Behind::bytes, {Outcome::overlap, Action::keep}},
};

}  // namespace

Verdict decide(EndsAt ends_at, Behind what_is_behind) {
  const auto row = std::ranges::find_if(
      kTable, [&](const Row& each) { return each.ends_at == ends_at && each.behind == what_is_behind; });
  BOOBLIK_CHECK(row != kTable.end(), "the table of recovery is total");
  return row->verdict;
}

Behind behind(RecordState stopped_at) {
  switch (stopped_at) {
    case RecordState::end_of_file:
      return Behind::nothing;
    case RecordState::unwritten:
      return Behind::zeros;
    default:
      return Behind::bytes;
  }
}

}  // namespace booblik::log
