#include "log/segment_reader.h"

#include <algorithm>

#include "base/check.h"
#include "base/crc32c.h"

namespace booblik::log {
namespace {

std::unexpected<Error> became_shorter() {
  return fail(ErrorCode::io, "the file became shorter while it was in use");
}

}  // namespace

SegmentReader::SegmentReader(env::File& file, std::int64_t file_bytes, std::int64_t block_bytes)
    : file_(file),
      file_bytes_(file_bytes),
      block_bytes_(std::max(kRecordHeaderBytes, std::min(block_bytes, file_bytes))),
      block_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(block_bytes_))) {}

Result<Bytes> SegmentReader::window(Position position, std::int64_t wanted) {
  wanted = std::min({wanted, block_bytes_, file_bytes_ - position.value()});
  std::int64_t skip = position - block_position_;
  if (skip < 0 || skip + wanted > block_filled_) {
    const std::int64_t bytes = std::min(block_bytes_, file_bytes_ - position.value());
    auto got = file_.read_at({block_.get(), static_cast<std::size_t>(bytes)}, position);
    if (!got) {
      block_filled_ = 0;
      return std::unexpected(std::move(got.error()));
    }
    block_position_ = position;
    block_filled_ = static_cast<std::int64_t>(*got);
    skip = 0;
  }
  return Bytes(block_.get() + skip, static_cast<std::size_t>(block_filled_ - skip));
}

Result<std::uint32_t> SegmentReader::checksum(Position position, std::int64_t bytes) {
  std::uint32_t sum = 0;
  while (bytes > 0) {
    // What is left of the block is summed before the next is read, so nothing is read twice.
    auto piece = window(position, bytes <= block_bytes_ / 8 ? bytes : 1);
    if (!piece) {
      return std::unexpected(std::move(piece.error()));
    }
    if (piece->empty()) {
      return became_shorter();
    }
    const Bytes part = piece->first(std::min(piece->size(), static_cast<std::size_t>(bytes)));
    sum = crc32c_extend(sum, part);
    position += static_cast<std::int64_t>(part.size());
    bytes -= static_cast<std::int64_t>(part.size());
  }
  return sum;
}

Result<RecordAt> SegmentReader::peek(Position position) {
  const std::int64_t rest = file_bytes_ - position.value();
  BOOBLIK_CHECK(rest >= 0 && position >= Position(), "reading stays inside the file");
  if (rest == 0) {
    return RecordAt{};
  }
  auto bytes = window(position, kRecordHeaderBytes);
  if (!bytes) {
    return std::unexpected(std::move(bytes.error()));
  }
  if (static_cast<std::int64_t>(bytes->size()) < std::min(rest, kRecordHeaderBytes)) {
    return became_shorter();
  }
  if (rest < kRecordHeaderBytes) {
    const bool zeros = std::ranges::all_of(*bytes, [](std::byte byte) { return byte == std::byte{0}; });
    return RecordAt{.state = zeros ? RecordState::unwritten : RecordState::bad_size, .header = {}};
  }
  const RecordHeader header = load_record_header(bytes->data());
  if (header.payload_bytes == 0) {
    return RecordAt{.state = RecordState::unwritten, .header = {}};
  }
  if (header.payload_bytes < 0 || header.record_bytes() > rest) {
    return RecordAt{.state = RecordState::bad_size, .header = {}};
  }
  return RecordAt{.state = RecordState::intact, .header = header};
}

Result<RecordAt> SegmentReader::check(Position position) {
  // Nearly every record lies in the buffer as a whole; a scan is as fast as this path.
  const std::int64_t skip = position - block_position_;
  if (skip >= 0 && skip + kRecordHeaderBytes <= block_filled_) {
    const std::byte* at = block_.get() + skip;
    const RecordHeader header = load_record_header(at);
    if (header.payload_bytes > 0 && header.record_bytes() <= block_filled_ - skip) {
      const Bytes payload(at + kRecordHeaderBytes, static_cast<std::size_t>(header.payload_bytes));
      const bool intact = crc32c(payload) == header.crc;
      return RecordAt{.state = intact ? RecordState::intact : RecordState::bad_checksum, .header = header};
    }
  }
  auto record = peek(position);
  if (!record || record->state != RecordState::intact) {
    return record;
  }
  const auto sum = checksum(position + kRecordHeaderBytes, record->header.payload_bytes);
  if (!sum) {
    return std::unexpected(sum.error());
  }
  if (*sum != record->header.crc) {
    record->state = RecordState::bad_checksum;
  }
  return record;
}

}  // namespace booblik::log
