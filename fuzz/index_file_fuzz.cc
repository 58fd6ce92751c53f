// Whatever an index file holds: its longest good prefix is kept, and is what a broker wrote.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "frame_mutator.h"
#include "frames.h"
#include "log/index_file.h"

namespace booblik {
namespace {

constexpr Offset kBase(7);
constexpr std::int64_t kInterval = 64;

void check(Bytes bytes) {
  static_cast<void>(log::decode_summary(bytes, kBase));
  const auto file = log::decode_index_file(bytes, kBase, kInterval);
  if (!file) {
    return;
  }
  BOOBLIK_CHECK(file->valid_bytes >= 0 && file->valid_bytes <= static_cast<std::int64_t>(bytes.size()),
                "the good prefix is a prefix");
  for (std::size_t i = 1; i < file->index.size(); ++i) {
    BOOBLIK_CHECK(file->index[i - 1].offset < file->index[i].offset &&
                      file->index[i - 1].position < file->index[i].position,
                  "entries ascend");
  }
  BOOBLIK_CHECK(file->index.size() * 16 <= bytes.size(), "memory follows the bytes that are there");
  // The good prefix, which leaves the summary out, decoded again is the same index.
  const auto again =
      log::decode_index_file(bytes.first(static_cast<std::size_t>(file->valid_bytes)), kBase, kInterval);
  BOOBLIK_CHECK(again && again->valid_bytes == file->valid_bytes && again->index.size() == file->index.size(),
                "what is good stays good");
}

// Writes the checksum of everything from `begin` on behind it.
void put_checksum(std::vector<std::byte>& out, std::size_t begin) {
  const std::uint32_t crc = crc32c(Bytes(out).subspan(begin));
  out.resize(out.size() + sizeof crc);
  store_big_endian(out.data() + out.size() - sizeof crc, crc);
}

}  // namespace
}  // namespace booblik

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned int seed) {
  return booblik::fuzz::mutate_blocks(data, size, max_size, seed);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  const Bytes bytes = std::as_bytes(std::span(data, size));
  check(bytes);
  // The same bytes as blocks whose checksums are right, behind a header that is; the last one may be a
  // trailer.
  std::vector<std::byte> file = log::encode_index_header(kBase);
  for (const fuzz::Frame& block : fuzz::cut_frames(data, size)) {
    const std::size_t begin = file.size();
    const Bytes part = std::as_bytes(std::span(block));
    file.insert(file.end(), part.begin(), part.end());
    put_checksum(file, begin);
    check(file);
    std::vector<std::byte> sealed = file;
    sealed.resize(sealed.size() + sizeof(std::int32_t));
    store_big_endian(sealed.data() + file.size(), static_cast<std::int32_t>(file.size() - begin));
    const Bytes seal = as_bytes("SEAL");
    sealed.insert(sealed.end(), seal.begin(), seal.end());
    check(sealed);
  }
  return 0;
}
