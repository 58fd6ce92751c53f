#include "cli/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/process_input.h"

namespace booblik::cli {
namespace {

TEST(Text, TrimTakesBlanksAroundAndNoneInside) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Text, InQuotesShowsControlCharactersAndIsBounded) {
  EXPECT_EQ(in_quotes("a\tb\x7f"), "\"a\\x09b\\x7f\"");
  EXPECT_EQ(in_quotes("\xD0\x96"), "\"\xD0\x96\"");
  EXPECT_EQ(in_quotes(std::string(81, 'x')), "\"" + std::string(80, 'x') + "...\"");
}

TEST(ReadFile, ReadsWholeFilesUpToTheLimit) {
  const std::string path = testing::TempDir() + "booblik-read-file-test";
  const std::string text("line\n\0\xff", 7);
  {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
    ASSERT_EQ(std::fclose(file), 0);
  }
  EXPECT_EQ(read_file(path, 7).value_or("?"), text);
  const auto too_long = read_file(path, 6);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ErrorCode::invalid);
  std::remove(path.c_str());
}

TEST(ReadFile, SaysWhatIsWrong) {
  const auto missing = read_file("/nowhere/x", 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("/nowhere/x"), std::string::npos);
  const auto directory = read_file(testing::TempDir(), 10);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::io);
}

TEST(EnvironmentVariables, AreSortedPairs) {
  const auto variables = environment_variables();
  EXPECT_TRUE(std::ranges::is_sorted(variables));
  const auto is_path = [](const auto& variable) {
    return variable.first == "PATH" && !variable.second.empty();
  };
  EXPECT_TRUE(std::ranges::any_of(variables, is_path));
}

}  // namespace
}  // namespace booblik::cli
