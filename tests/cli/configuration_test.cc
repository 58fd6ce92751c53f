#include "cli/configuration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace booblik::cli {
namespace {

ConfigurationSources file(std::string text) {
  ConfigurationSources sources;
  sources.file = {"booblik.properties", std::move(text)};
  return sources;
}

std::vector<std::string> problems(const ConfigurationSources& sources) {
  const auto result = configure(sources);
  return result ? std::vector<std::string>{} : result.error();
}

// The only problem of `sources`.
std::string problem(const ConfigurationSources& sources) {
  const auto all = problems(sources);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? "" : all.front();
}

std::string source_of(const Configuration& configuration, std::string_view key) {
  return configuration.sources[static_cast<std::size_t>(find_by_key(key) - settings().data())];
}

TEST(Configure, FlagsBeatEnvironmentBeatsFileBeatsDefault) {
  ConfigurationSources sources = file("booblik.port=1\nbooblik.data.dir=/f\nbooblik.bind.address=::1\n");
  sources.environment = {
      {"PATH", "/bin"}, {"BOOBLIK_PORT", "2"}, {"BOOBLIK_DATA_DIR", "/e"}, {"BOOBLIK_BROKER", "x:1"}};
  sources.flags = {{find_by_key("booblik.port"), "3"}};
  const auto configuration = configure(sources);
  ASSERT_TRUE(configuration);
  EXPECT_EQ(configuration->options.port, 3);
  EXPECT_EQ(configuration->options.data_directory, "/e");
  EXPECT_EQ(configuration->options.bind_address, "::1");
  EXPECT_EQ(configuration->options.connections_max, broker::Options{}.connections_max);
  EXPECT_EQ(source_of(*configuration, "booblik.port"), "flag --port");
  EXPECT_EQ(source_of(*configuration, "booblik.data.dir"), "environment BOOBLIK_DATA_DIR");
  EXPECT_EQ(source_of(*configuration, "booblik.bind.address"), "file booblik.properties:3");
  EXPECT_EQ(source_of(*configuration, "booblik.topics"), "default");
}

TEST(Configure, ReportsEveryProblemOfEverySourceAtOnce) {
  ConfigurationSources sources =
      file("booblik.port=-1\nbooblik.prot=9092\nbooblik.topics=a:1,a:2,b:x\nbooblik.data.dir=\\u12\n");
  sources.environment = {{"BOOBLIK_RETENTION_BYTES", "-1"}, {"BOOBLIK_TOPIC", "a:1"}};
  sources.flags = {{find_by_key("booblik.index.interval.bytes"), "0"}};
  EXPECT_EQ(
      problems(sources),
      (std::vector<std::string>{
          "booblik.properties:4: a \\u escape takes four hexadecimal digits that make a Unicode character",
          "booblik.port (file booblik.properties:1): \"-1\" is not possible; write 0..65535 (a whole number)",
          "booblik.properties:2: unknown key \"booblik.prot\" (did you mean booblik.port?)",
          "booblik.topics (file booblik.properties:3): topic \"a\" is there twice; name it once",
          "booblik.topics (file booblik.properties:3): topic \"b\": \"x\" is no partition count; write b:1 "
          "for one partition",
          "environment BOOBLIK_RETENTION_BYTES: \"-1\" is not possible; write 1 B..1024 TiB, or unlimited "
          "(a number of bytes, or one with KiB, MiB, GiB or TiB)",
          "unknown environment variable BOOBLIK_TOPIC (did you mean BOOBLIK_TOPICS?); unset it",
          "flag --index-interval-bytes: \"0\" is not possible; write 64 B..1 TiB "
          "(a number of bytes, or one with KiB, MiB, GiB or TiB)",
      }));
}

TEST(Configure, RefusesAWrongValueThatAStrongerSourceReplaces) {
  ConfigurationSources sources = file("booblik.port=ninety\n");
  sources.flags = {{find_by_key("booblik.port"), "9092"}};
  EXPECT_NE(problem(sources).find("booblik.properties:1"), std::string::npos);
}

TEST(Configure, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(problem(file("booblik.port=1\n\nbooblik.port=1\n")),
            "booblik.properties:3: \"booblik.port\" is already set in line 1; keep one of them");
}

TEST(Configure, SuggestsTheKeyThatWasMeant) {
  EXPECT_EQ(problem(file("port=1\n")),
            "booblik.properties:1: unknown key \"port\" (did you mean booblik.port?)");
  EXPECT_EQ(problem(file("=1\n")), "booblik.properties:1: unknown key \"\"");
}

TEST(Configure, WarnsAboutKeysWithoutEffect) {
  const auto configuration =
      configure(file("booblik.segment.mode=MMAP\nbooblik.transport=nio\nbooblik.fetch.mode=HEAP\n"));
  ASSERT_TRUE(configuration);
  ASSERT_EQ(configuration->warnings.size(), 3U);
  EXPECT_EQ(configuration->warnings[0],
            "booblik.segment.mode (file booblik.properties:1) has no effect here; it can be removed");
}

TEST(Configure, RefusesTopicsWhoseMetadataNoClientWouldTake) {
  // 10 bytes, then 6 + 1 + 20 * count: the frame limit of 8 388 608 leaves room for 419 429 partitions.
  EXPECT_TRUE(problems(file("booblik.topics=a:419429\n")).empty());
  const std::string refused = problem(file("booblik.topics=a:419430\n"));
  EXPECT_NE(refused.find("booblik.topics (file booblik.properties:1)"), std::string::npos) << refused;
  EXPECT_NE(refused.find("METADATA answer of 8388617 bytes"), std::string::npos) << refused;
}

TEST(Configure, BoundsWhatItReports) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "nonsense" + std::to_string(i) + "=1\n";
  }
  const auto all = problems(file(text));
  ASSERT_EQ(all.size(), kProblemsMax);
  EXPECT_EQ(all.back(), "and 901 more");
}

TEST(Describe, ShowsEveryKeyValueAndSource) {
  const auto configuration = configure(file("booblik.retention.millis=7d\n"));
  ASSERT_TRUE(configuration);
  const std::string text = describe(*configuration, Shown::all);
  for (const Setting& setting : settings()) {
    EXPECT_NE(text.find(setting.key() + " "), std::string::npos) << setting.key();
  }
  EXPECT_NE(text.find("604800000 (7 d)"), std::string::npos) << text;
  EXPECT_NE(text.find("  file booblik.properties:1\n"), std::string::npos) << text;
}

TEST(Describe, ShowsAtStartWhatMattersAndWhatWasSet) {
  const auto configuration = configure(file("booblik.retention.millis=7d\n"));
  ASSERT_TRUE(configuration);
  const std::string text = describe(*configuration, Shown::essential);
  EXPECT_NE(text.find("booblik.data.dir "), std::string::npos);
  EXPECT_NE(text.find("booblik.retention.millis "), std::string::npos);
  EXPECT_EQ(text.find("booblik.limit.connections"), std::string::npos);
}

}  // namespace
}  // namespace booblik::cli
