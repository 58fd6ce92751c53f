#include "wire/topic_name.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <set>
#include <string>

namespace booblik::wire {
namespace {

std::string utf8(char32_t code_point) {
  std::string text;
  const auto put = [&text](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | (code_point >> 6U));
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x10000) {
    put(0xE0U | (code_point >> 12U));
    put(0x80U | ((code_point >> 6U) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else {
    put(0xF0U | (code_point >> 18U));
    put(0x80U | ((code_point >> 12U) & 0x3FU));
    put(0x80U | ((code_point >> 6U) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  }
  return text;
}

TEST(TopicName, TakesLettersDigitsDotUnderscoreDash) {
  for (const char* name : {"a", "orders", "Orders-2.v_1", "0", ".", "..", "-", "_"}) {
    EXPECT_TRUE(is_valid_topic_name(name)) << name;
  }
}

TEST(TopicName, TakesLettersAndDecimalDigitsOfEveryScript) {
  // Cyrillic, CJK, Arabic, a modifier letter, a titlecase letter, Arabic-Indic digits, a letter beyond
  // U+FFFF.
  for (const char* name : {"заказы", "注文", "طلب", "ʰ", "ǅ", "٣٤", "𝐀", "a٣я-1"}) {
    EXPECT_TRUE(is_valid_topic_name(name)) << name;
  }
}

TEST(TopicName, RefusesEverythingElse) {
  // A space, slash, NUL, control; emoji; combining acute (Mn); Roman numeral (Nl); superscript two (No);
  // euro; U+FFFD.
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a/b"), std::string("a\0b", 3), std::string("a\n"),
        std::string("a:b"), std::string("😀"), std::string("e\u0301"), std::string("Ⅷ"), std::string("²"),
        std::string("€"), std::string("\uFFFD"), std::string("\u200B"), std::string("\uFEFF")}) {
    EXPECT_FALSE(is_valid_topic_name(name)) << name;
  }
}

TEST(TopicName, CountsBytesNotCharacters) {
  EXPECT_TRUE(is_valid_topic_name(std::string(249, 'a')));
  EXPECT_FALSE(is_valid_topic_name(std::string(250, 'a')));
  std::string cyrillic;
  for (int i = 0; i < 124; ++i) {
    cyrillic += "я";
  }
  EXPECT_TRUE(is_valid_topic_name(cyrillic + "a"));   // 249 bytes
  EXPECT_FALSE(is_valid_topic_name(cyrillic + "я"));  // 250 bytes
}

TEST(TopicName, RefusesBytesThatAreNotStrictUtf8) {
  for (const char* name : {
           "\x80",
           "a\xBF",  // a continuation byte alone
           "\xC3",
           "\xE4\xBD",
           "\xF0\x9D\x90",  // cut short at the end
           "\xC3z",
           "\xE4\xBDz",         // cut short in the middle
           "\xC1\x81",          // 'A' in two bytes
           "\xE0\x81\x81",      // 'A' in three
           "\xF0\x80\x81\x81",  // 'A' in four
           "\xE0\x9F\xBF",      // U+07FF in three
           "\xED\xA0\x80",
           "\xED\xBF\xBF",      // surrogates
           "\xF4\x90\x80\x80",  // U+110000
           "\xF8\x88\x80\x80\x80",
           "\xFE",
           "\xFF",
       }) {
    EXPECT_FALSE(is_valid_topic_name(name));
    EXPECT_FALSE(is_valid_topic_name(std::string("ok") + name));
  }
}

TEST(TopicName, FollowsTheGeneralCategoryOfEveryCodePoint) {
  const std::set<std::string> allowed{"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"};
  std::size_t valid = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    const bool mark = c == '.' || c == '_' || c == '-';
    const bool expected =
        !surrogate && (mark || allowed.contains(utf8proc_category_string(static_cast<utf8proc_int32_t>(c))));
    ASSERT_EQ(is_valid_topic_name(utf8(c)), expected) << "U+" << std::hex << static_cast<std::uint32_t>(c);
    valid += expected ? 1 : 0;
  }
  EXPECT_GT(valid, 130'000U);
}

TEST(TopicName, SaysWhichRuleIsBrokenAndWhere) {
  EXPECT_TRUE(check_topic_name("orders").has_value());
  EXPECT_EQ(check_topic_name("").error().message, "a topic name must not be empty");
  EXPECT_NE(check_topic_name(std::string(300, 'a')).error().message.find("300"), std::string::npos);
  EXPECT_NE(check_topic_name("a b").error().message.find("U+0020 at byte 1"), std::string::npos);
  EXPECT_NE(check_topic_name("ab\xFF").error().message.find("not valid UTF-8 at byte 2"), std::string::npos);
  EXPECT_EQ(check_topic_name("").error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace booblik::wire
