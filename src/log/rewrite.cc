#include "log/rewrite.h"

#include <algorithm>
#include <memory>

#include "log/segment_reader.h"

namespace booblik::log {

Result<void> rewrite_in_place(env::File& file, Position from, Position to) {
  if (from >= to) {
    return {};
  }
  const std::int64_t block_bytes = std::min(to - from, SegmentReader::kBlockBytes);
  const auto block = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(block_bytes));
  while (from < to) {
    const auto wanted = static_cast<std::size_t>(std::min(to - from, block_bytes));
    const auto got = file.read_at({block.get(), wanted}, from);
    if (!got) {
      return std::unexpected(got.error());
    }
    if (*got == 0) {
      return fail(ErrorCode::io, "the file became shorter while it was rewritten");
    }
    const Bytes part(block.get(), *got);
    if (auto written = file.write_at({&part, 1}, from); !written) {
      return written;
    }
    from += static_cast<std::int64_t>(*got);
  }
  return {};
}

}  // namespace booblik::log
