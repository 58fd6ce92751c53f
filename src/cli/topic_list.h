// The value of `booblik.topics`: "orders:3,clicks:1", topics and their partition counts.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace booblik::cli {

using Topics = std::map<std::string, std::int32_t>;

// The topics, or every problem that the list has (at most one for each of its elements): a name that breaks
// the rules of wire/topic_name.h, a count that is none, a topic that is there twice, an empty list.
[[nodiscard]] std::expected<Topics, std::vector<std::string>> parse_topics(std::string_view text);

[[nodiscard]] std::string format_topics(const Topics& topics);

[[nodiscard]] std::int64_t partition_count(const Topics& topics);

// The frameLength of the METADATA answer that names every topic: it must not exceed wire::kMaxFrameBytes.
[[nodiscard]] std::int64_t full_metadata_frame_bytes(const Topics& topics);

}  // namespace booblik::cli
