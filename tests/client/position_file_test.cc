#include "client/position_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace booblik::client {
namespace {

StoredPositions some() {
  return {{{"orders", PartitionId(0)}, Offset(1234)},
          {{"orders", PartitionId(11)}, Offset(0)},
          {{"больше", PartitionId(2)}, Offset(INT64_MAX)}};
}

TEST(PositionFile, IsTheTextThatTheHeaderShows) {
  const std::string text = format_positions(
      {{{"orders", PartitionId(0)}, Offset(1234)}, {{"orders", PartitionId(1)}, Offset(77)}});
  EXPECT_TRUE(text.starts_with("booblik-positions 1\norders 0 1234\norders 1 77\ncrc32c ")) << text;
}

TEST(PositionFile, ComesBack) {
  for (const StoredPositions& positions : {StoredPositions{}, some()}) {
    const auto parsed = parse_positions(format_positions(positions));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(*parsed, positions);
  }
}

TEST(PositionFile, EveryCutAndEveryChangedByteIsDamage) {
  const std::string text = format_positions(some());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_positions(text.substr(0, length)).has_value()) << length;
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int mask : {1, 0x20, 0x80}) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ mask);
      EXPECT_FALSE(parse_positions(changed).has_value()) << at << " ^ " << mask;
    }
  }
  EXPECT_FALSE(parse_positions(text + "\n").has_value());
  EXPECT_FALSE(parse_positions(text + text).has_value());
  EXPECT_FALSE(parse_positions(std::string(text.size(), '\0')).has_value());
}

TEST(PositionFile, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) { return parse_positions(text).error().message; };
  EXPECT_EQ(message(""), "the file is empty");
  EXPECT_TRUE(message("hello").contains("no position file"));
  EXPECT_TRUE(message("booblik-positions 1\norders 0 1").contains("cut short"));
  EXPECT_TRUE(message("booblik-positions 1\norders 0 1\ncrc32c 00000000\n").contains("checksum"));
  const auto newer = parse_positions("booblik-positions 2\nwhatever\n");
  ASSERT_FALSE(newer.has_value());
  EXPECT_EQ(newer.error().code, ErrorCode::invalid);
  EXPECT_TRUE(newer.error().message.contains("version 2")) << newer.error().message;
}

RC_GTEST_PROP(PositionFile, NothingButAStoresTextIsTaken, (const std::string& text)) {
  RC_ASSERT(!parse_positions(text).has_value());
  RC_ASSERT(!parse_positions("booblik-positions 1\n" + text).has_value());
}

}  // namespace
}  // namespace booblik::client
