// Reads the records of a segment file one after another through one bounded buffer.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "env/disk.h"
#include "log/record.h"

namespace booblik::log {

// What lies at a position of a segment file. No size that is read here is believed before it fits the file.
enum class RecordState {
  intact,
  bad_checksum,  // the size fits the file, but the payload is not what was summed
  bad_size,      // negative, or past the end of the file; also too few bytes for a header
  unwritten,     // a zero size, or only zeros where a header does not fit any more
  end_of_file,
};

struct RecordAt {
  RecordState state = RecordState::end_of_file;
  RecordHeader header;  // of intact and bad_checksum
};

class SegmentReader {
 public:
  static constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20U;

  // `file_bytes`: where reading ends, at most the size of the file. The file is borrowed.
  SegmentReader(env::File& file, std::int64_t file_bytes, std::int64_t block_bytes = kBlockBytes);

  // Reads the whole record and checks it; one that is larger than the block is summed piece by piece. May
  // park.
  Result<RecordAt> check(Position position);

  // The header alone: `intact` means that the size fits. May park.
  Result<RecordAt> peek(Position position);

 private:
  // The bytes from `position` on that are in the buffer, at least `wanted` (at most a block) of them unless
  // the file ends.
  Result<Bytes> window(Position position, std::int64_t wanted);
  Result<std::uint32_t> checksum(Position position, std::int64_t bytes);

  env::File& file_;
  std::int64_t file_bytes_;
  std::int64_t block_bytes_;
  std::unique_ptr<std::byte[]> block_;
  Position block_position_;
  std::int64_t block_filled_ = 0;
};

}  // namespace booblik::log
