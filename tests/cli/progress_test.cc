#include "cli/progress.h"

#include <gtest/gtest.h>

namespace booblik::cli {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMiB = 1024 * 1024;

TEST(Progress, SaysHowFarHowFastAndHowLong) {
  EXPECT_EQ(progress_line(45 * kMiB, 100 * kMiB, seconds(9), ProgressUnit::bytes),
            " 45% [#########-----------] 45.0 of 100.0 MiB, 5.0 MiB/s, 11 s left");
  EXPECT_EQ(progress_line(512, 1024, seconds(1), ProgressUnit::bytes),
            " 50% [##########----------] 0.5 of 1.0 KiB, 0.5 KiB/s, 1 s left");
  EXPECT_EQ(progress_line(1000, 4000, seconds(2), ProgressUnit::records),
            " 25% [#####---------------] 1000 of 4000 records, 500 records/s, 6 s left");
}

TEST(Progress, HasNothingLeftAtTheEndNorBeyond) {
  for (const std::int64_t done : {4000, 5000}) {
    EXPECT_EQ(progress_line(done, 4000, seconds(2), ProgressUnit::records),
              "100% [####################] 4000 of 4000 records, 2000 records/s");
  }
  EXPECT_EQ(progress_line(0, 4000, seconds(0), ProgressUnit::records),
            "  0% [--------------------] 0 of 4000 records, 0 records/s");
}

}  // namespace
}  // namespace booblik::cli
