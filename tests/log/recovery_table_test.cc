// docs/disk-format.md and the table in code say the same.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "log/recovery_table.h"

namespace booblik::log {
namespace {

const std::map<std::string, EndsAt> kEndsAt{{"newest_at_line", EndsAt::newest_at_line},
                                            {"newest_below_line", EndsAt::newest_below_line},
                                            {"successor", EndsAt::successor},
                                            {"hole_at_line", EndsAt::hole_at_line},
                                            {"hole_below_line", EndsAt::hole_below_line},
                                            {"overlap_at_line", EndsAt::overlap_at_line},
                                            {"overlap_below_line", EndsAt::overlap_below_line}};
const std::map<std::string, Outcome> kOutcomes{{"clean_end", Outcome::clean_end},
                                               {"zero_tail", Outcome::zero_tail},
                                               {"torn_tail", Outcome::torn_tail},
                                               {"trailing_bytes", Outcome::trailing_bytes},
                                               {"damaged_records", Outcome::damaged_records},
                                               {"short_segment", Outcome::short_segment},
                                               {"gap", Outcome::gap},
                                               {"overlap", Outcome::overlap}};
const std::map<std::string, Action> kActions{
    {"keep", Action::keep}, {"cut", Action::cut}, {"end_log", Action::end_log}, {"seal", Action::seal}};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t from = cell.find_first_not_of(' ');
    cells.push_back(from == std::string::npos ? ""
                                              : cell.substr(from, cell.find_last_not_of(' ') - from + 1));
  }
  return cells;
}

Verdict verdict_of(const std::string& cell) {
  const std::size_t comma = cell.find(", ");
  return {kOutcomes.at(cell.substr(0, comma)), kActions.at(cell.substr(comma + 2))};
}

TEST(RecoveryTable, IsTheOneInTheDocumentation) {
  std::ifstream page(DISK_FORMAT_PAGE);
  ASSERT_TRUE(page);
  std::size_t rows = 0;
  for (std::string line; std::getline(page, line);) {
    const auto cells = line.starts_with("|") ? cells_of(line) : std::vector<std::string>();
    const auto ends_at = cells.empty() ? kEndsAt.end() : kEndsAt.find(cells[0].substr(0, cells[0].find(':')));
    if (ends_at == kEndsAt.end()) {
      continue;
    }
    ++rows;
    ASSERT_EQ(cells.size(), 4U) << line;
    EXPECT_EQ(decide(ends_at->second, Behind::nothing), verdict_of(cells[1])) << line;
    EXPECT_EQ(decide(ends_at->second, Behind::zeros), verdict_of(cells[2])) << line;
    EXPECT_EQ(decide(ends_at->second, Behind::bytes), verdict_of(cells[3])) << line;
  }
  EXPECT_EQ(rows, kEndsAt.size());
}

}  // namespace
}  // namespace booblik::log
