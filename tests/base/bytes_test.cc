#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/crc32c.h"

namespace booblik {
namespace {

// The definition, bit by bit: what both fast paths are compared with.
std::uint32_t reference_crc32c(Bytes bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    }
  }
  return ~crc;
}

TEST(BigEndian, StoresTheHighByteFirst) {
  std::array<std::byte, 8> bytes{};
  store_big_endian<std::int32_t>(bytes.data(), 0x01020304);
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[3], std::byte{4});
  store_big_endian<std::int64_t>(bytes.data(), -2);
  EXPECT_EQ(load_big_endian<std::int64_t>(bytes.data()), -2);
  EXPECT_EQ(load_big_endian<std::uint16_t>(bytes.data()), 0xFFFF);
}

TEST(ByteReader, StaysWhereItWasWhenAFieldDoesNotFit) {
  ByteReader reader(as_bytes(std::string_view("\x00\x05xyz", 5)));
  EXPECT_FALSE(reader.read<std::int64_t>().has_value());
  EXPECT_EQ(reader.read<std::uint16_t>(), 5);
  EXPECT_FALSE(reader.read_bytes(4).has_value());
  EXPECT_EQ(reader.remaining(), 3U);
  EXPECT_EQ(as_text(*reader.read_bytes(3)), "xyz");
  EXPECT_TRUE(reader.read_bytes(0).has_value());
}

TEST(Crc32c, GivesTheCheckValue) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c(Bytes()), 0U);
}

TEST(Crc32c, BothPathsAgreeWithTheDefinitionAtEveryLengthAndAlignment) {
  std::vector<std::byte> bytes(20'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 131U) >> 3U);
  }
  for (std::size_t length = 0; length < 300; ++length) {
    for (std::size_t shift = 0; shift < 9; ++shift) {
      const Bytes part = Bytes(bytes).subspan(shift, length);
      ASSERT_EQ(crc32c(part), reference_crc32c(part)) << length << " bytes at " << shift;
    }
  }
  for (const std::size_t length : {8191U, 8192U, 8193U, 16'384U, 19'999U}) {
    const Bytes part = Bytes(bytes).first(length);
    ASSERT_EQ(crc32c(part), reference_crc32c(part)) << length;
  }
}

TEST(Crc32c, PiecesGiveTheSumOfTheWhole) {
  std::vector<std::byte> bytes(3'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 11U);
  }
  for (const std::size_t cut : {0U, 1U, 7U, 128U, 129U, 1500U, 3000U}) {
    const std::uint32_t first = crc32c_extend(0, Bytes(bytes).first(cut));
    ASSERT_EQ(crc32c_extend(first, Bytes(bytes).subspan(cut)), crc32c(bytes)) << cut;
  }
}

TEST(Crc32c, CopyGivesTheSameSumAndTheSameBytesAndNothingMore) {
  std::vector<std::byte> from(20'000);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<std::byte>(i * 7U);
  }
  for (const std::size_t length : {0U, 1U, 7U, 8U, 127U, 128U, 129U, 4096U, 8193U, 19'000U}) {
    std::vector<std::byte> to(length + 1, std::byte{0xEE});
    const Bytes part = Bytes(from).first(length);
    ASSERT_EQ(crc32c_copy(to.data(), part), crc32c(part)) << length;
    ASSERT_TRUE(std::equal(part.begin(), part.end(), to.begin())) << length;
    ASSERT_EQ(to.back(), std::byte{0xEE}) << length;
  }
}

}  // namespace
}  // namespace booblik
