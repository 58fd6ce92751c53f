#include <gtest/gtest.h>

#include <vector>

#include "log/recovery_table.h"

namespace booblik::log {
namespace {

TEST(RecoveryTable, IsTheOneInTheDocumentation) {
  struct Row {
    EndsAt ends_at;
    std::vector<Verdict> verdicts;  // behind: nothing, zeros, bytes
  };
  const Verdict end{Outcome::torn_tail, Action::end_log};
  const std::vector<Row> rows{
      {EndsAt::newest_at_line,
       {{Outcome::clean_end, Action::keep},
        {Outcome::zero_tail, Action::cut},
        {Outcome::torn_tail, Action::cut}}},
      {EndsAt::newest_below_line,
       {{Outcome::short_segment, Action::seal},
        {Outcome::short_segment, Action::seal},
        {Outcome::damaged_records, Action::seal}}},
      {EndsAt::successor,
       {{Outcome::clean_end, Action::keep},
        {Outcome::clean_end, Action::keep},
        {Outcome::trailing_bytes, Action::keep}}},
      {EndsAt::hole_at_line, {end, end, end}},
      {EndsAt::hole_below_line,
       {{Outcome::gap, Action::keep},
        {Outcome::gap, Action::keep},
        {Outcome::damaged_records, Action::keep}}},
      {EndsAt::overlap_at_line,
       {{Outcome::clean_end, Action::end_log}, {Outcome::zero_tail, Action::end_log}, end}},
      {EndsAt::overlap_below_line,
       {{Outcome::overlap, Action::keep},
        {Outcome::overlap, Action::keep},
        {Outcome::overlap, Action::keep}}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(decide(row.ends_at, Behind::nothing), row.verdicts[0]);
    EXPECT_EQ(decide(row.ends_at, Behind::zeros), row.verdicts[1]);
    EXPECT_EQ(decide(row.ends_at, Behind::bytes), row.verdicts[2]);
  }
}

}  // namespace
}  // namespace booblik::log
