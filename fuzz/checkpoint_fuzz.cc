// Whatever the checkpoint file holds, it is what a broker wrote, or it is damaged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "log/checkpoint.h"

namespace {

using namespace booblik;

void decode(Bytes bytes) {
  if (const auto checkpoints = log::decode_checkpoints(bytes)) {
    BOOBLIK_CHECK(std::ranges::equal(log::encode_checkpoints(*checkpoints), bytes),
                  "there is one way to write a checkpoint");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  decode(bytes);
  // With a checksum that is right the entries are looked at, too.
  std::vector<std::byte> summed(bytes.begin(), bytes.end());
  summed.resize(size + sizeof(std::uint32_t));
  store_big_endian(summed.data() + size, crc32c(bytes));
  decode(summed);
  return 0;
}
