#include "cli/topic_list.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "base/numbers.h"
#include "cli/text.h"
#include "wire/protocol.h"
#include "wire/response.h"
#include "wire/topic_name.h"

namespace booblik::cli {
namespace {

constexpr std::size_t kFileNameBytesMax = 255;  // of every Linux file system

std::optional<std::int32_t> parse_count(std::string_view text) {
  const auto count = parse_number<std::int32_t>(text);
  return count && *count >= 1 ? count : std::nullopt;
}

// Adds one "name:count" to `topics`, or returns what is wrong with it.
std::optional<std::string> add_topic(Topics& topics, std::string_view element) {
  if (element.empty()) {
    return "there is nothing between two commas; write name:partitions,name:partitions";
  }
  const std::size_t colon = element.rfind(':');
  const std::string_view name = trim(element.substr(0, colon));
  const std::string_view digits = colon == std::string_view::npos ? "" : trim(element.substr(colon + 1));
  if (const auto valid = wire::check_topic_name(name); !valid) {
    return fmt::format("topic {}: {}", in_quotes(name), valid.error().message);
  }
  const auto count = parse_count(digits);
  if (!count) {
    return fmt::format("topic {}: {} is no partition count; write {}:1 for one partition", in_quotes(name),
                       in_quotes(digits), name);
  }
  const std::string last_directory = fmt::format("{}-{}", name, *count - 1);
  if (last_directory.size() > kFileNameBytesMax) {
    return fmt::format(
        "topic {}: the directory of partition {} would have a name of {} bytes; at most {} are possible",
        in_quotes(name), *count - 1, last_directory.size(), kFileNameBytesMax);
  }
  if (!topics.emplace(name, *count).second) {
    return fmt::format("topic {} is there twice; name it once", in_quotes(name));
  }
  return std::nullopt;
}

}  // namespace

std::expected<Topics, std::vector<std::string>> parse_topics(std::string_view text) {
  if (trim(text).empty()) {
    return std::unexpected(
        std::vector<std::string>{"no topic is named; write name:partitions, for example orders:3,clicks:1"});
  }
  Topics topics;
  std::vector<std::string> problems;
  for (const std::string_view element : split(text, ',')) {
    if (auto problem = add_topic(topics, trim(element))) {
      problems.push_back(std::move(*problem));
    }
  }
  if (!problems.empty()) {
    return std::unexpected(std::move(problems));
  }
  return topics;
}

std::string format_topics(const Topics& topics) {
  std::string out;
  for (const auto& [name, count] : topics) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", name, count);
  }
  return out;
}

std::int64_t partition_count(const Topics& topics) {
  std::int64_t partitions = 0;
  for (const auto& [name, count] : topics) {
    partitions += count;
  }
  return partitions;
}

std::int64_t full_metadata_frame_bytes(const Topics& topics) {
  std::int64_t bytes = wire::kResponseHeaderBytes + wire::kMetadataFixedBytes;
  for (const auto& [name, count] : topics) {
    bytes += wire::kMetadataTopicBytes + static_cast<std::int64_t>(name.size()) +
             wire::kMetadataPartitionBytes * count;
  }
  return bytes;
}

}  // namespace booblik::cli
