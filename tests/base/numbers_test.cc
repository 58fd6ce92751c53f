#include "base/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace booblik {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<std::int32_t>("17"), 17);
  EXPECT_EQ(parse_number<std::int32_t>("-17"), -17);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  for (const char* text : {"", " 17", "17 ", "+17", "17x", "x", "0x11", "-"}) {
    EXPECT_EQ(parse_number<std::int32_t>(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(parse_number<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint16_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace booblik
