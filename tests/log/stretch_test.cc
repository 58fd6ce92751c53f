#include "log/stretch.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "log_world.h"

namespace booblik::log {
namespace {

// Records of 20 bytes at offsets 5..8.
class StretchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    disk.put("data/5.log", encode(std::vector<std::string>(4, std::string(12, 'x'))));
    auto opened = disk.open("data/5.log", env::OpenMode::read_only);
    ASSERT_TRUE(opened);
    file = std::move(*opened);
  }

  static Anchor place(std::int64_t offset, std::int64_t position) {
    return {Offset(offset), Position(position), std::nullopt};
  }

  // -1 for none.
  std::int64_t find(const Anchor& begin, const Anchor& end, std::int64_t offset) {
    const auto found = walk(*file, {begin, end}, Offset(offset));
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->value_or(Position(-1)).value() : -2;
  }

  MemoryDisk disk;
  std::unique_ptr<env::File> file;
};

TEST_F(StretchTest, HeadersLeadToEachOffset) {
  for (std::int64_t offset = 5; offset < 9; ++offset) {
    EXPECT_EQ(find(place(5, 0), place(9, 80), offset), (offset - 5) * 20);
  }
  EXPECT_EQ(find(place(6, 20), place(8, 60), 7), 40);
  EXPECT_EQ(find(place(6, 20), place(8, 60), 8), -1) << "the end is not of it";
  EXPECT_EQ(find(place(6, 20), place(8, 60), 5), -1);
}

TEST_F(StretchTest, ItsEndsHaveToFit) {
  EXPECT_EQ(find(place(5, 0), place(8, 80), 6), -1) << "one record too many";
  EXPECT_EQ(find(place(5, 0), place(9, 70), 6), -1) << "the end is within a record";
  EXPECT_EQ(find(place(5, 3), place(9, 80), 6), -1) << "no record begins there";
  Anchor begin = place(5, 0);
  begin.crc = crc32c(as_bytes(std::string(12, 'x')));
  EXPECT_EQ(find(begin, place(9, 80), 6), 20);
  begin.crc = *begin.crc + 1;
  EXPECT_EQ(find(begin, place(9, 80), 6), -1) << "another record than the index speaks of";
}

TEST_F(StretchTest, AnEmptyOneHoldsNothing) {
  EXPECT_EQ(find(place(6, 20), place(6, 20), 6), -1);
  EXPECT_EQ(find(place(6, 40), place(7, 20), 6), -1) << "backwards";
}

TEST_F(StretchTest, AReadThatFailsIsTold) {
  disk.intercept = [](MemoryDisk::Operation, const std::string&) {
    return MemoryDisk::Verdict{ErrorCode::io, 0};
  };
  const auto found = walk(*file, {place(5, 0), place(9, 80)}, Offset(6));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace booblik::log
