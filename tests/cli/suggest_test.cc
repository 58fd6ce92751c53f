#include "cli/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace booblik::cli {
namespace {

TEST(EditDistance, CountsEachKindOfSlipOnce) {
  EXPECT_EQ(edit_distance("port", "port"), 0U);
  EXPECT_EQ(edit_distance("prt", "port"), 1U);
  EXPECT_EQ(edit_distance("poort", "port"), 1U);
  EXPECT_EQ(edit_distance("pork", "port"), 1U);
  EXPECT_EQ(edit_distance("prot", "port"), 1U);
  EXPECT_EQ(edit_distance("", "port"), 4U);
  EXPECT_EQ(edit_distance("abc", "xyz"), 3U);
}

TEST(Nearest, SuggestsOnlyWhatMayHaveBeenMeant) {
  const std::vector<std::string> known{"produce", "consume", "topics"};
  EXPECT_EQ(nearest("prodcue", known), "produce");
  EXPECT_EQ(nearest("topic", known), "topics");
  EXPECT_EQ(nearest("serve", known), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), known), std::nullopt);
}

}  // namespace
}  // namespace booblik::cli
