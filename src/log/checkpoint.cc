#include "log/checkpoint.h"

#include <algorithm>
#include <string_view>

#include "base/crc32c.h"
#include "log/encoding.h"
#include "log/record.h"

namespace booblik::log {
namespace {

constexpr std::string_view kMagic = "BOOBLCKP";
constexpr std::int32_t kVersion = 1;

std::unexpected<Error> bad(const char* why) {
  return fail(ErrorCode::damaged, why);
}

std::optional<PartitionCheckpoint> read_entry(ByteReader& reader) {
  const auto length = reader.read<std::uint16_t>();
  const auto topic = length ? reader.read_bytes(*length) : std::nullopt;
  const auto partition = reader.read<std::int32_t>();
  if (!topic || !partition || reader.remaining() < 5 * sizeof(std::int64_t)) {
    return std::nullopt;
  }
  const auto number = [&reader] { return reader.read<std::int64_t>().value_or(0); };
  PartitionCheckpoint entry;
  entry.id = {std::string(as_text(*topic)), PartitionId(*partition)};
  entry.offset = Offset(number());
  entry.segment_base = Offset(number());
  entry.position = Position(number());
  entry.first_append = WallTime(number());
  entry.last_append = WallTime(number());
  const bool sound = entry.segment_base >= Offset() && entry.offset >= entry.segment_base &&
                     entry.offset <= kOffsetMax && entry.position >= Position() &&
                     entry.position <= kPositionMax;
  return sound ? std::optional(std::move(entry)) : std::nullopt;
}

}  // namespace

std::vector<std::byte> encode_checkpoints(const std::vector<PartitionCheckpoint>& checkpoints) {
  std::vector<std::byte> out;
  append_bytes(out, as_bytes(kMagic));
  append_big_endian(out, kVersion);
  append_big_endian(out, static_cast<std::int32_t>(checkpoints.size()));
  for (const PartitionCheckpoint& entry : checkpoints) {
    append_big_endian(out, static_cast<std::uint16_t>(entry.id.topic.size()));
    append_bytes(out, as_bytes(entry.id.topic));
    append_big_endian(out, entry.id.partition.value());
    append_big_endian(out, entry.offset.value());
    append_big_endian(out, entry.segment_base.value());
    append_big_endian(out, entry.position.value());
    append_big_endian(out, entry.first_append.milliseconds());
    append_big_endian(out, entry.last_append.milliseconds());
  }
  append_crc32c(out, 0);
  return out;
}

Result<std::vector<PartitionCheckpoint>> decode_checkpoints(Bytes bytes) {
  if (bytes.size() < kMagic.size() + 3 * sizeof(std::int32_t) ||
      as_text(bytes.first(kMagic.size())) != kMagic) {
    return bad("not a checkpoint");
  }
  const Bytes body = bytes.first(bytes.size() - sizeof(std::uint32_t));
  if (load_big_endian<std::uint32_t>(bytes.data() + body.size()) != crc32c(body)) {
    return bad("the checksum of the checkpoint is wrong");
  }
  ByteReader reader(body.subspan(kMagic.size()));
  if (reader.read<std::int32_t>() != kVersion) {
    return bad("the version of the checkpoint is not known");
  }
  const std::int32_t count = reader.read<std::int32_t>().value_or(0);
  std::vector<PartitionCheckpoint> checkpoints;
  for (std::int32_t i = 0; i < count; ++i) {
    auto entry = read_entry(reader);
    if (!entry) {
      return bad("an entry of the checkpoint makes no sense");
    }
    checkpoints.push_back(std::move(*entry));
  }
  if (count < 0 || reader.remaining() > 0) {
    return bad("the checkpoint has bytes that belong to no entry");
  }
  return checkpoints;
}

}  // namespace booblik::log
