#include "cli/descriptors.h"

#include <gtest/gtest.h>

namespace booblik::cli {
namespace {

broker::Options options() {
  broker::Options options;
  options.topics = {{"a", 30}, {"b", 6}};
  options.open_segment_files_max = 50;
  options.connections_max = 1000;
  return options;
}

// 36 partitions, 2 x 50 files, 64 of its own.
constexpr std::int64_t kNeeded = 36 + 100 + kOwnDescriptors;

TEST(PlanDescriptors, TakesAllConnectionsWhenTheyFit) {
  const auto plan = plan_descriptors(kNeeded + 1000, options());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->connections, 1000);
  EXPECT_EQ(plan->storage, 136);
  EXPECT_FALSE(plan->warning);
}

TEST(PlanDescriptors, TakesFewerConnectionsAndSaysSo) {
  const auto plan = plan_descriptors(kNeeded + 999, options());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->connections, 999);
  ASSERT_TRUE(plan->warning);
  EXPECT_NE(plan->warning->find("999 connections and not 1000"), std::string::npos) << *plan->warning;
}

TEST(PlanDescriptors, RefusesWhenHardlyAnyWouldBeLeft) {
  EXPECT_TRUE(plan_descriptors(kNeeded + kFewestConnections, options()));
  const auto plan = plan_descriptors(kNeeded + kFewestConnections - 1, options());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::too_many_files);
  EXPECT_NE(plan.error().message.find("36 partitions"), std::string::npos) << plan.error().message;
}

TEST(PlanDescriptors, AFewConnectionsMayBeAllThatIsWanted) {
  broker::Options few = options();
  few.connections_max = 2;
  EXPECT_TRUE(plan_descriptors(kNeeded + 2, few));
  EXPECT_FALSE(plan_descriptors(kNeeded + 1, few));
}

}  // namespace
}  // namespace booblik::cli
