#include "cli/settings.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <set>
#include <string>

#include "cli/quantity.h"
#include "cli/topic_list.h"
#include "wire/protocol.h"

namespace booblik::cli {
namespace {

using broker::Options;

const Setting& setting(std::string_view key) {
  const Setting* found = find_by_key(key);
  EXPECT_NE(found, nullptr) << key;
  return *found;
}

// Sets one value in fresh options; the problems joined, empty when it was taken.
std::string set(std::string_view key, std::string_view text, Options& options) {
  std::string problems;
  if (const auto result = setting(key).set(options, text); !result) {
    for (const std::string& problem : result.error()) {
      problems += problem + "\n";
    }
  }
  return problems;
}

std::string refusal(std::string_view key, std::string_view text) {
  Options options;
  return set(key, text, options);
}

TEST(Quantity, ReadsNumbersWithSuffixesOfTheirUnitOnly) {
  EXPECT_EQ(parse_quantity("4096", Unit::bytes), 4096);
  EXPECT_EQ(parse_quantity("64MiB", Unit::bytes), 64LL << 20);
  EXPECT_EQ(parse_quantity("64 MiB", Unit::bytes), 64LL << 20);
  EXPECT_EQ(parse_quantity("-1", Unit::none), -1);
  EXPECT_EQ(parse_quantity("30s", Unit::milliseconds), 30'000);
  EXPECT_EQ(parse_quantity("7d", Unit::milliseconds), 604'800'000);
  EXPECT_EQ(parse_quantity("9223372036854775807", Unit::none), std::numeric_limits<std::int64_t>::max());
  for (const char* bad : {"", " ", "x", "1x", "1 ", "1MB", "64M", "64mib", "1.5GiB", "+1", "0x10", "1 2",
                          "9223372036854775808", "9007199254740993KiB", "64  MiB", "5s"}) {
    EXPECT_EQ(parse_quantity(bad, Unit::bytes), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_quantity("5m", Unit::milliseconds), std::nullopt);
}

TEST(Quantity, WritesLargeUnitsWhereTheyAreExact) {
  EXPECT_EQ(format_quantity(67'108'864, Unit::bytes), "67108864 (64 MiB)");
  EXPECT_EQ(format_quantity(1025, Unit::bytes), "1025");
  EXPECT_EQ(format_quantity(60'000, Unit::milliseconds), "60000 (1 min)");
  EXPECT_EQ(format_quantity(0, Unit::milliseconds), "0");
  EXPECT_EQ(format_quantity(1024, Unit::none), "1024");
  EXPECT_EQ(format_compact(86'400'000, Unit::milliseconds), "1 d");
  EXPECT_EQ(format_compact(1500, Unit::bytes), "1500 B");
  EXPECT_EQ(format_compact(65'536, Unit::none), "65536");
}

TEST(TopicList, ReadsNamesAndCounts) {
  EXPECT_EQ(parse_topics("orders:3, clicks:1"), (Topics{{"clicks", 1}, {"orders", 3}}));
  EXPECT_EQ(parse_topics("\xD0\xB7\xD0\xB0\xD0\xBA\xD0\xB0\xD0\xB7\xD1\x8B:2")->begin()->second, 2);
  EXPECT_EQ(format_topics({{"clicks", 1}, {"orders", 3}}), "clicks:1,orders:3");
}

TEST(TopicList, NamesEveryProblem) {
  const auto result = parse_topics("a:1,a:2,b:0,c,d:-1,e:x,,f g:1,h:99999999999,ok:1");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().size(), 8U);
  EXPECT_NE(result.error()[0].find("\"a\" is there twice"), std::string::npos) << result.error()[0];
  EXPECT_FALSE(parse_topics(""));
  EXPECT_FALSE(parse_topics(std::string(250, 'a') + ":1"));
  EXPECT_TRUE(parse_topics(std::string(249, 'a') + ":100000"));
  EXPECT_FALSE(parse_topics(std::string(249, 'a') + ":100001")) << "the directory name would have 256 bytes";
}

TEST(TopicList, CountsTheMetadataAnswerInBytes) {
  // correlationId 4, errorCode 2, topicCount 4; u16 3, "abc", partitionCount 4; 20 for each partition.
  EXPECT_EQ(full_metadata_frame_bytes({{"abc", 2}}), 4 + 2 + 4 + 2 + 3 + 4 + 2 * 20);
}

TEST(Settings, SpellingsAreUniqueAndDerived) {
  std::set<std::string> keys;
  std::set<std::string> flags;
  std::set<std::string> variables;
  for (const Setting& each : settings()) {
    keys.insert(each.key());
    flags.insert(each.flag());
    variables.insert(each.environment_variable());
    EXPECT_EQ(find_by_key(each.key()), &each);
    EXPECT_EQ(find_by_environment_variable(each.environment_variable()), &each);
  }
  EXPECT_EQ(keys.size(), settings().size());
  EXPECT_EQ(flags.size(), settings().size());
  EXPECT_EQ(variables.size(), settings().size());
  const Setting& capacity = setting("booblik.segment.capacity.bytes");
  EXPECT_EQ(capacity.flag(), "--segment-capacity-bytes");
  EXPECT_EQ(capacity.environment_variable(), "BOOBLIK_SEGMENT_CAPACITY_BYTES");
  EXPECT_EQ(find_by_key("port"), nullptr);
  EXPECT_EQ(find_by_key("booblik.nothing"), nullptr);
}

TEST(Settings, EachWritesItsOwnMemberAndReadsBackItsValue) {
  for (const Setting& each : settings()) {
    if (!each.has_effect()) {
      continue;
    }
    const Options defaults;
    const std::string default_value = each.value(defaults);
    const bool is_number = each.max != 0;
    const std::string other = is_number ? std::to_string(each.max) : "other:7";
    Options changed;
    ASSERT_TRUE(each.set(changed, other)) << each.key();
    EXPECT_NE(each.value(changed), default_value) << each.key();
    for (const Setting& neighbour : settings()) {
      if (&neighbour != &each) {
        EXPECT_EQ(neighbour.value(changed), neighbour.value(defaults))
            << each.key() << " changed " << neighbour.key();
      }
    }
    // A default is a value that may be written, too.
    const std::string plain = default_value.substr(0, default_value.find(" ("));
    ASSERT_TRUE(each.set(changed, plain)) << each.key() << " " << plain;
    EXPECT_EQ(each.value(changed), default_value) << each.key();
  }
}

TEST(Settings, RangesAreEnforcedAtBothEnds) {
  for (const Setting& each : settings()) {
    if (each.max == 0) {
      continue;
    }
    Options options;
    EXPECT_TRUE(each.set(options, std::to_string(each.min))) << each.key();
    EXPECT_FALSE(each.set(options, std::to_string(each.min - 1))) << each.key();
    EXPECT_FALSE(each.set(options, std::to_string(each.max + 1))) << each.key();
    EXPECT_FALSE(each.set(options, "-1")) << each.key();
    EXPECT_FALSE(each.set(options, "")) << each.key();
    EXPECT_EQ(each.set(options, "unlimited").has_value(), each.may_be_unlimited()) << each.key();
    EXPECT_EQ(each.set(options, "9223372036854775807").has_value(), each.may_be_unlimited()) << each.key();
  }
}

TEST(Settings, RefusalsSayWhatToWrite) {
  EXPECT_EQ(refusal("booblik.retention.bytes", "-1"),
            "\"-1\" is not possible; write 1 B..1024 TiB, or unlimited (a number of bytes, or one with KiB, "
            "MiB, GiB or TiB)\n");
  EXPECT_EQ(refusal("booblik.port", "65536"), "\"65536\" is not possible; write 0..65535 (a whole number)\n");
  EXPECT_NE(refusal("booblik.port", "90 92"), "");
  EXPECT_EQ(refusal("booblik.port", " 9093\n"), "");
  EXPECT_NE(refusal("booblik.data.dir", ""), "");
  EXPECT_NE(refusal("booblik.data.dir", "a\nb"), "");
}

TEST(Settings, ARefusedValueChangesNothing) {
  Options options;
  EXPECT_NE(set("booblik.topics", "a:1,b:0", options), "");
  EXPECT_NE(set("booblik.port", "70000", options), "");
  EXPECT_EQ(options.topics, Options{}.topics);
  EXPECT_EQ(options.port, Options{}.port);
}

}  // namespace
}  // namespace booblik::cli
