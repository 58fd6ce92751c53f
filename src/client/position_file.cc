#include "client/position_file.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/numbers.h"

namespace booblik::client {
namespace {

constexpr std::string_view kName = "booblik-positions ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kChecksum = "crc32c ";
constexpr std::size_t kChecksumLineBytes = kChecksum.size() + 8 + 1;

std::unexpected<Error> damaged(std::string message) {
  return fail(ErrorCode::damaged, std::move(message));
}

// Cuts what stands before `separator` off; nullopt when there is none.
std::optional<std::string_view> cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + 1);
  return before;
}

template <class Number>
std::optional<Number> parse_count(std::string_view text) {
  const auto number = parse_number<Number>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

std::string checksum_line(std::string_view body) {
  return fmt::format("{}{:08x}\n", kChecksum, crc32c(as_bytes(body)));
}

bool add_line(StoredPositions& positions, std::string_view line) {
  const auto topic = cut(line, ' ');
  const auto partition = cut(line, ' ');
  if (!topic || topic->empty() || !partition) {
    return false;
  }
  const auto number = parse_count<std::int32_t>(*partition);
  const auto next = parse_count<std::int64_t>(line);
  if (!number || !next) {
    return false;
  }
  return positions.emplace(std::pair(std::string(*topic), PartitionId(*number)), Offset(*next)).second;
}

}  // namespace

std::string format_positions(const StoredPositions& positions) {
  std::string text = fmt::format("{}{}\n", kName, kVersion);
  for (const auto& [key, next] : positions) {
    text += fmt::format("{} {} {}\n", key.first, key.second.value(), next.value());
  }
  return text + checksum_line(text);
}

Result<StoredPositions> parse_positions(std::string_view text) {
  if (text.empty()) {
    return damaged("the file is empty");
  }
  if (!text.starts_with(kName)) {
    return damaged("this is no position file: it does not begin with 'booblik-positions'");
  }
  std::string_view rest = text.substr(kName.size());
  const auto version = cut(rest, '\n');
  if (version && *version != kVersion && parse_count<int>(*version)) {
    return fail(
        ErrorCode::invalid,
        fmt::format("version {} was written by another booblik; this one knows {}", *version, kVersion));
  }
  if (!version || *version != kVersion || rest.size() < kChecksumLineBytes) {
    return damaged("the file is cut short");
  }
  const std::string_view body = text.substr(0, text.size() - kChecksumLineBytes);
  if (!body.ends_with('\n') || text.substr(body.size()) != checksum_line(body)) {
    return damaged("the checksum does not match: the file was cut or changed");
  }
  rest.remove_suffix(kChecksumLineBytes);
  StoredPositions positions;
  while (!rest.empty()) {
    const auto line = cut(rest, '\n');
    if (!line || !add_line(positions, *line)) {
      return damaged(fmt::format("line {} is no position", positions.size() + 2));
    }
  }
  if (format_positions(positions) != text) {
    return damaged("the lines are not in the order in which a store writes them");
  }
  return positions;
}

}  // namespace booblik::client
