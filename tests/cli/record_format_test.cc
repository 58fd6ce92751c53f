#include "cli/record_format.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace booblik::cli {
namespace {

std::string print(const RecordFormat& format, std::string_view value) {
  std::string out = ">";
  format.append(out, "orders", PartitionId(2), Offset(17), as_bytes(value));
  return out.substr(1);
}

std::string print(std::string_view format, std::string_view value) {
  const auto parsed = RecordFormat::parse(format);
  EXPECT_TRUE(parsed.has_value()) << format;
  return parsed ? print(*parsed, value) : "";
}

TEST(RecordFormat, KnowsEveryEscape) {
  EXPECT_EQ(print("%t-%p @ %o: %s (%S)", "value"), "orders-2 @ 17: value (5)");
  EXPECT_EQ(print("%x|%b", std::string_view("\x00\xFFz", 3)), "00ff7a|AP96");
  EXPECT_EQ(print("100%%\\n\\t\\r\\\\\\x41\\0", ""), std::string("100%\n\t\r\\A\0", 10));
  EXPECT_EQ(print("", "value"), "");
  EXPECT_EQ(print("%s%s", "v"), "vv");
}

TEST(RecordFormat, RefusesUnknownEscapesAndSaysWhere) {
  for (const char* format :
       {"abc%", "abc\\", "abc%z", "abc\\z", "abc\\x", "abc\\x4", "abc\\xG0", "abc%-5s"}) {
    const auto parsed = RecordFormat::parse(format);
    ASSERT_FALSE(parsed.has_value()) << format;
    EXPECT_TRUE(parsed.error().message.contains("at character 4")) << parsed.error().message;
  }
}

TEST(Base64, KnowsTheVectorsOfItsStandard) {
  const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : vectors) {
    std::string out;
    append_base64(out, as_bytes(plain));
    EXPECT_EQ(out, encoded);
  }
}

TEST(JsonLines, SaysBytesThatAreNotTextInBase64) {
  EXPECT_EQ(print(RecordFormat::json_lines(), "a\"b\n"),
            "{\"topic\":\"orders\",\"partition\":2,\"offset\":17,\"value\":\"a\\\"b\\n\"}\n");
  EXPECT_EQ(print(RecordFormat::json_lines(), "ok\xFF"),
            "{\"topic\":\"orders\",\"partition\":2,\"offset\":17,\"value_base64\":\"b2v/\"}\n");
  // An overlong slash and a surrogate are not UTF-8.
  EXPECT_TRUE(print(RecordFormat::json_lines(), "\xC0\xAF").contains("value_base64"));
  EXPECT_TRUE(print(RecordFormat::json_lines(), "\xED\xA0\x80").contains("value_base64"));
}

TEST(JsonString, AnotherReaderReadsEveryCharacterBack) {
  std::string all;
  for (int c = 0; c < 128; ++c) {
    all += static_cast<char>(c);
  }
  all += "яё注🦉\u2028";
  std::string out;
  ASSERT_TRUE(append_json_string(out, as_bytes(all)));
  EXPECT_EQ(nlohmann::json::parse(out).get<std::string>(), all);
}

RC_GTEST_PROP(JsonString, AgreesWithAnotherReaderAboutAnyBytes, (const std::string& bytes)) {
  std::string out = "before";
  if (append_json_string(out, as_bytes(bytes))) {
    RC_ASSERT(nlohmann::json::parse(out.substr(6)).get<std::string>() == bytes);
  } else {
    RC_ASSERT(out == "before");
    RC_ASSERT_THROWS((void)nlohmann::json(bytes).dump());  // it finds no UTF-8 there either
  }
}

}  // namespace
}  // namespace booblik::cli
