#include "cli/properties.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

namespace booblik::cli {
namespace {

using Entries = std::vector<Property>;

Entries entries(std::string_view text) {
  const Properties properties = parse_properties(text);
  EXPECT_TRUE(properties.problems.empty());
  return properties.entries;
}

TEST(Properties, SeparateKeyAndValueInEveryWay) {
  EXPECT_EQ(entries("a=1\nb:2\nc 3\nd\t=\t4\ne : 5\nf\ng="), (Entries{{"a", "1", 1},
                                                                      {"b", "2", 2},
                                                                      {"c", "3", 3},
                                                                      {"d", "4", 4},
                                                                      {"e", "5", 5},
                                                                      {"f", "", 6},
                                                                      {"g", "", 7}}));
}

TEST(Properties, OnlyTheFirstSeparatorCounts) {
  EXPECT_EQ(entries("t=orders:3,clicks:1\nu==x\nv = =y\nw a b"),
            (Entries{{"t", "orders:3,clicks:1", 1}, {"u", "=x", 2}, {"v", "=y", 3}, {"w", "a b", 4}}));
}

TEST(Properties, SkipCommentsAndBlankLines) {
  EXPECT_EQ(entries("# one\n\n  ! two \\\n  \t\na=1 # kept\r\n\r#x\rb=2"),
            (Entries{{"a", "1 # kept", 5}, {"b", "2", 8}}));
}

TEST(Properties, JoinContinuationLines) {
  EXPECT_EQ(entries("t=a,\\\n   b,\\\r\n\tc\nnext=1"), (Entries{{"t", "a,b,c", 1}, {"next", "1", 4}}));
  // An even number of backslashes does not continue; a comment sign in a continued line is text.
  EXPECT_EQ(entries("p=x\\\\\nq=y\\\n#z"), (Entries{{"p", "x\\", 1}, {"q", "y#z", 2}}));
  // A continued line may be empty, and the text may end in a backslash.
  EXPECT_EQ(entries("p=x\\\n\nq=y\\"), (Entries{{"p", "x", 1}, {"q", "y", 3}}));
}

TEST(Properties, DecodeEscapes) {
  EXPECT_EQ(entries("a\\ b\\=c=\\t\\n\\r\\f\\z\\\\"), (Entries{{"a b=c", "\t\n\r\fz\\", 1}}));
  EXPECT_EQ(entries("k=\\u0416\\u00e9\\u0041"), (Entries{{"k",
                                                          "\xD0\x96\xC3\xA9"
                                                          "A",
                                                          1}}));
  EXPECT_EQ(entries("k=\\uD83D\\uDE00"), (Entries{{"k", "\xF0\x9F\x98\x80", 1}}));
}

TEST(Properties, ReportBadEscapesWithTheirLineAndGoOn) {
  const Properties properties =
      parse_properties("a=\\u12\nb=\\u12g4\nc=\\uD83D\nd=\\uDE00\ne=\\uD83D\\u0041\nf=1");
  std::vector<int> lines;
  for (const PropertiesProblem& problem : properties.problems) {
    lines.push_back(problem.line);
  }
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(properties.entries, (Entries{{"f", "1", 6}}));
}

TEST(Properties, DropAByteOrderMarkAndRefuseHugeFiles) {
  EXPECT_EQ(entries("\xEF\xBB\xBFk=v"), (Entries{{"k", "v", 1}}));
  const Properties huge = parse_properties(std::string(kPropertiesBytesMax + 1, '\n'));
  EXPECT_EQ(huge.problems.size(), 1U);
}

// As Java's `Properties.store` writes it.
std::string escaped(const std::string& text, bool is_key) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r' || c == '\t' || c == '\f') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : "\\f";
    } else if (c == '\\' || c == '=' || c == ':' || c == '#' || c == '!' ||
               (c == ' ' && (is_key || i == 0))) {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

TEST(Properties, ReadBackWhatWasWritten) {
  EXPECT_TRUE(rc::check("every written key and value is read back", [] {
    const auto character =
        rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("\\ =:#!\n\r\t\fu")));
    const auto text = rc::gen::container<std::string>(character);
    const auto pairs = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
        rc::gen::pair(rc::gen::nonEmpty(text), text));
    std::string file;
    Entries expected;
    for (const auto& [key, value] : pairs) {
      file += escaped(key, true) + " = " + escaped(value, false) + "\n";
      expected.push_back({key, value, static_cast<int>(expected.size()) + 1});
    }
    const bool looks_like_mark = file.starts_with("\xEF\xBB\xBF");
    RC_PRE(!looks_like_mark);
    const Properties properties = parse_properties(file);
    RC_ASSERT(properties.problems.empty());
    RC_ASSERT(properties.entries == expected);
  }));
}

TEST(Properties, EveryTextGivesAResult) {
  EXPECT_TRUE(rc::check("no text breaks the parser, and it makes nothing up", [] {
    const auto character =
        rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("\\\\\\\n\r =:#uD8")));
    const auto text = *rc::gen::container<std::string>(character);
    const Properties properties = parse_properties(text);
    std::size_t bytes = 0;
    for (const Property& property : properties.entries) {
      bytes += property.key.size() + property.value.size();
    }
    RC_ASSERT(bytes <= text.size());
  }));
}

}  // namespace
}  // namespace booblik::cli
