#include "sim/file_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace booblik::sim {
namespace {

std::string text_of(const PagedBytes& bytes) {
  std::string text(static_cast<std::size_t>(bytes.size()), ' ');
  EXPECT_EQ(bytes.read(std::as_writable_bytes(std::span(text)), 0), text.size());
  return text;
}

std::string cached(const FileImage& file) {
  return text_of(file.cache());
}
std::string durable(const FileImage& file) {
  return text_of(file.durable());
}

TEST(PagedBytesTest, CopiesShareUntilOneWrites) {
  PagedBytes first;
  first.write(as_bytes("hello"), kPageBytes - 2);
  PagedBytes second = first;
  second.write(as_bytes("J"), kPageBytes - 2);
  EXPECT_EQ(text_of(first).substr(kPageBytes - 2), "hello");
  EXPECT_EQ(text_of(second).substr(kPageBytes - 2), "Jello");
  EXPECT_FALSE(first == second);
}

TEST(PagedBytesTest, WhatWasCutOffIsZerosWhenTheSizeGrowsAgain) {
  PagedBytes bytes;
  bytes.write(as_bytes("abcdef"), 0);
  bytes.resize(2);
  bytes.resize(6);
  EXPECT_EQ(text_of(bytes), std::string("ab\0\0\0\0", 6));
}

TEST(PagedBytesTest, HolesCostNothing) {
  PagedBytes bytes;
  bytes.resize(512 * 1024 * 1024);
  EXPECT_EQ(bytes.allocated_bytes(), 0);
  bytes.write(as_bytes("x"), 100 * kPageBytes);
  EXPECT_EQ(bytes.allocated_bytes(), kPageBytes);
  EXPECT_EQ(bytes.missing_bytes(100 * kPageBytes - 1, 2), kPageBytes);
}

TEST(FileImageTest, ReadersSeeEveryWriteAndThePowerOnlyWhatWasPersisted) {
  FileImage file;
  file.write(as_bytes("one"), 0);
  const auto mark = file.mark();
  file.write(as_bytes("two"), 3);
  EXPECT_EQ(cached(file), "onetwo");
  file.persist(mark);
  EXPECT_EQ(durable(file), "one");
  env::Random random(1);
  file.lose_power(random, PowerLoss::drop_all, DeviceGuarantees{});
  EXPECT_EQ(cached(file), "one");
}

TEST(FileImageTest, KeepAllKeepsAll) {
  FileImage file;
  file.write(as_bytes("onetwo"), 0);
  file.truncate(4);
  env::Random random(1);
  file.lose_power(random, PowerLoss::keep_all, DeviceGuarantees{});
  EXPECT_EQ(cached(file), "onet");
}

TEST(FileImageTest, APrefixIsOrderedAndTheWriteAtTheCutIsTornBetweenSectors) {
  std::set<std::size_t> sizes;
  bool torn = false;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    FileImage file;
    file.write(as_bytes(std::string(700, 'a')), 0);
    file.write(as_bytes(std::string(700, 'b')), 700);
    env::Random random(seed);
    file.lose_power(random, PowerLoss::prefix, DeviceGuarantees{});
    const std::string text = cached(file);
    sizes.insert(text.size());
    if (text.size() > 700) {
      EXPECT_EQ(text.substr(0, 700), std::string(700, 'a')) << "the second write came after the first";
      for (std::size_t start = 700; start < text.size();) {
        const std::size_t end = std::min(text.size(), (start / 512 + 1) * 512);
        const std::string sector = text.substr(start, end - start);
        const bool whole = sector == std::string(sector.size(), 'b');
        EXPECT_TRUE(whole || sector == std::string(sector.size(), '\0')) << "a sector is whole or not there";
        torn = torn || !whole;
        start = end;
      }
    }
  }
  EXPECT_TRUE(torn);
  EXPECT_TRUE(sizes.contains(0) && sizes.contains(700) && sizes.contains(1400));
}

TEST(FileImageTest, PagesReachTheDiskInAnyOrderAndSizesApartFromThem) {
  bool second_without_first = false;
  bool size_without_bytes = false;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    FileImage file;
    file.write(as_bytes(std::string(kPageBytes, 'a')), 0);
    file.write(as_bytes(std::string(kPageBytes, 'b')), kPageBytes);
    env::Random random(seed);
    file.lose_power(random, PowerLoss::pages, DeviceGuarantees{});
    const std::string text = cached(file);
    ASSERT_EQ(text.size() % kPageBytes, 0U);
    const auto page = [&](std::size_t index) {
      return text.size() > index * kPageBytes ? text[index * kPageBytes] : '-';
    };
    second_without_first = second_without_first || (page(0) == '\0' && page(1) == 'b');
    size_without_bytes = size_without_bytes || (page(0) == '\0' && page(1) == '\0');
  }
  EXPECT_TRUE(second_without_first);
  EXPECT_TRUE(size_without_bytes);
}

TEST(FileImageTest, APageMayHaveAnyVersionThatItWentThrough) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    FileImage file;
    file.write(as_bytes("old"), 0);
    file.persist(file.mark());
    file.write(as_bytes("mid"), 0);
    file.write(as_bytes("new"), 0);
    env::Random random(seed);
    file.lose_power(random, PowerLoss::pages, DeviceGuarantees{});
    seen.insert(cached(file));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"old", "mid", "new"}));
}

TEST(FileImageTest, AtomicPagesAreNotTorn) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    FileImage file;
    file.write(as_bytes(std::string(kPageBytes, 'o')), 0);
    file.persist(file.mark());
    file.write(as_bytes(std::string(kPageBytes, 'n')), 0);
    env::Random random(seed);
    file.lose_power(random, PowerLoss::sectors, DeviceGuarantees{.atomic_pages = true});
    const std::string text = cached(file);
    EXPECT_TRUE(std::ranges::all_of(text, [&](char byte) { return byte == text[0]; }));
  }
}

TEST(FileImageTest, ATruncationThatIsDurableIsNotUndoneByOldPages) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    FileImage file;
    file.write(as_bytes("abcdef"), 0);
    file.persist(file.mark());
    file.truncate(3);
    file.write(as_bytes("X"), 3);
    env::Random random(seed);
    file.lose_power(random, PowerLoss::pages, DeviceGuarantees{});
    seen.insert(cached(file));
  }
  EXPECT_TRUE(seen.contains("abcdef"));
  EXPECT_TRUE(seen.contains("abc"));
  EXPECT_TRUE(seen.contains("abcX"));
  EXPECT_FALSE(seen.contains("abcd")) << "what a durable truncation cut off does not come back";
  EXPECT_FALSE(seen.contains("abcde"));
}

TEST(FileImageTest, DroppedPagesAreReadableAndNeverWritten) {
  FileImage file;
  file.write(as_bytes("old"), 0);
  file.persist(file.mark());
  file.write(as_bytes("new"), 0);
  file.drop(file.mark(), false);
  EXPECT_EQ(cached(file), "new");
  file.persist(file.mark());
  EXPECT_EQ(durable(file), "old") << "a later barrier finds clean pages";
  FileImage evicted = file;
  evicted.evict();
  EXPECT_EQ(cached(evicted), "old");
  env::Random random(1);
  file.lose_power(random, PowerLoss::keep_all, DeviceGuarantees{});
  EXPECT_EQ(cached(file), "old");
}

TEST(FileImageTest, ADirtyPageIsNotEvicted) {
  FileImage file;
  file.write(as_bytes("new"), 0);
  file.drop(file.mark(), true);
  file.write(as_bytes("er"), 3);
  file.evict();
  EXPECT_EQ(cached(file), "newer");
}

TEST(FileImageTest, RotDamagesWhatWasWritten) {
  env::Random random(7);
  FileImage flipped;
  EXPECT_FALSE(flipped.rot_flip(random)) << "there is nothing to damage";
  flipped.write(as_bytes("abc"), 0);
  flipped.persist(flipped.mark());
  EXPECT_TRUE(flipped.rot_flip(random));
  EXPECT_NE(cached(flipped), "abc");
  EXPECT_EQ(cached(flipped), durable(flipped));
  FileImage lost;
  lost.write(as_bytes("abc"), 0);
  EXPECT_TRUE(lost.rot_lose_write(random));
  EXPECT_EQ(cached(lost), std::string(3, '\0'));
}

}  // namespace
}  // namespace booblik::sim
