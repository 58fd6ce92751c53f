#include "client/frame_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "wire/protocol.h"

namespace booblik::client {
namespace {

std::vector<std::byte> frame_of(std::size_t length, std::byte fill) {
  std::vector<std::byte> frame(4 + length, fill);
  store_big_endian(frame.data(), static_cast<std::int32_t>(length));
  return frame;
}

// Hands `bytes` over in pieces of at most `piece` and returns the largest space that was offered.
std::size_t feed(FrameBuffer& buffer, Bytes bytes, std::size_t piece) {
  std::size_t largest = 0;
  while (!bytes.empty()) {
    const MutableBytes space = buffer.space();
    largest = std::max(largest, space.size());
    const std::size_t count = std::min({space.size(), bytes.size(), piece});
    std::copy_n(bytes.begin(), count, space.begin());
    buffer.filled(count);
    bytes = bytes.subspan(count);
  }
  return largest;
}

TEST(FrameBuffer, GivesBackFramesHoweverTheyAreCut) {
  std::vector<std::byte> stream;
  const std::vector<std::size_t> lengths{1, 5, 70'000, 3, 200'000, 65'532, 65'536, 7};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto frame = frame_of(lengths[i], static_cast<std::byte>(i));
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (const std::size_t piece : {1U, 7U, 4096U, 65'536U, 1'000'000U}) {
    FrameBuffer buffer;
    Bytes rest = stream;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      while (buffer.first().status == wire::FrameStatus::incomplete) {
        const std::size_t count = std::min(piece, rest.size());
        feed(buffer, rest.first(count), piece);
        rest = rest.subspan(count);
        if (buffer.first().status == wire::FrameStatus::complete) {
          break;
        }
      }
      const Bytes frame = buffer.first().frame;
      ASSERT_EQ(frame.size(), lengths[i]) << piece;
      ASSERT_TRUE(std::all_of(frame.begin(), frame.end(),
                              [i](std::byte byte) { return byte == static_cast<std::byte>(i); }));
      buffer.drop_first();
    }
    EXPECT_TRUE(buffer.empty());
  }
}

TEST(FrameBuffer, AnAnnouncedLengthBuysNoMemory) {
  FrameBuffer buffer;
  std::vector<std::byte> announced(4);
  store_big_endian(announced.data(), wire::kMaxFrameBytes);
  EXPECT_LE(feed(buffer, announced, 4), 64U * 1024);
  EXPECT_LE(buffer.space().size(), 64U * 1024);
}

TEST(FrameBuffer, HoldsTheLargestFrame) {
  FrameBuffer buffer;
  const auto largest = frame_of(wire::kMaxFrameBytes, std::byte{7});
  feed(buffer, largest, 1'000'000);
  ASSERT_EQ(buffer.first().status, wire::FrameStatus::complete);
  EXPECT_EQ(buffer.first().frame.size(), static_cast<std::size_t>(wire::kMaxFrameBytes));
  buffer.drop_first();
  feed(buffer, frame_of(3, std::byte{1}), 1);
  EXPECT_EQ(buffer.first().frame.size(), 3U);
}

}  // namespace
}  // namespace booblik::client
