#include "sim/file_system.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/directory_image.h"

namespace booblik::sim {
namespace {

using Names = DirectoryImage::Names;

TEST(DirectoryImageTest, NamesAreDurableOnceThePersistCoversThem) {
  DirectoryImage directory;
  directory.link("a", 1);
  const auto mark = directory.mark();
  directory.link("b", 2);
  directory.persist(mark);
  EXPECT_EQ(directory.durable(), (Names{{"a", 1}}));
  env::Random random(1);
  directory.lose_power(random, PowerLoss::drop_all, DeviceGuarantees{});
  EXPECT_EQ(directory.names(), (Names{{"a", 1}}));
}

TEST(DirectoryImageTest, UnorderedNamesSurviveInAnySubset) {
  std::set<Names> unordered;
  std::set<Names> ordered;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const bool in_order : {false, true}) {
      DirectoryImage directory;
      directory.link("a", 1);
      directory.link("b", 2);
      env::Random random(seed);
      directory.lose_power(random, PowerLoss::pages, DeviceGuarantees{.ordered_names = in_order});
      (in_order ? ordered : unordered).insert(directory.names());
    }
  }
  EXPECT_EQ(unordered.size(), 4U);
  EXPECT_EQ(ordered, (std::set<Names>{{}, {{"a", 1}}, {{"a", 1}, {"b", 2}}}));
}

TEST(DirectoryImageTest, ARenameShowsTheOldFileOrTheNewOne) {
  std::set<Names> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    DirectoryImage directory;
    directory.link("file", 1);
    directory.persist(directory.mark());
    directory.link("temporary", 2);
    directory.rename("temporary", "file");
    env::Random random(seed);
    directory.lose_power(random, PowerLoss::sectors, DeviceGuarantees{});
    ASSERT_TRUE(directory.names().contains("file"));
    seen.insert(directory.names());
  }
  EXPECT_TRUE(seen.contains(Names{{"file", 1}}));
  EXPECT_TRUE(seen.contains(Names{{"file", 2}}));
}

TEST(DirectoryImageTest, ASyncedFileCanKeepItsNewName) {
  DirectoryImage directory;
  directory.link("a", 1);
  directory.link("b", 2);
  directory.persist_new_name(2);
  env::Random random(1);
  directory.lose_power(random, PowerLoss::drop_all, DeviceGuarantees{});
  EXPECT_EQ(directory.names(), (Names{{"b", 2}}));
}

class FileSystemTest : public ::testing::Test {
 protected:
  InodeNumber create(const std::string& path, std::string_view text) {
    const auto number = files_.open(path, env::OpenMode::create_new);
    EXPECT_TRUE(number);
    EXPECT_EQ(files_.write(*number, as_bytes(text), 0), text.size());
    return *number;
  }

  FileSystem files_{10 * kPageBytes, DeviceGuarantees{}};
};

TEST_F(FileSystemTest, APowerLossTakesFilesWhoseNamesWereNotSynced) {
  ASSERT_TRUE(files_.create_directory("/data"));
  const InodeNumber number = create("/data/file", "text");
  files_.inode(number).file.persist(files_.inode(number).file.mark());
  env::Random random(1);
  files_.lose_power(random, PowerLoss::drop_all);
  EXPECT_FALSE(files_.directory("/data"));
  EXPECT_EQ(files_.inode_count(), 1U) << "only the root is left";
  EXPECT_EQ(files_.used_bytes(), 0);
}

TEST_F(FileSystemTest, ARemovalThatWasNotSyncedComesBackWithItsBytes) {
  const InodeNumber number = create("/file", "text");
  files_.inode(number).file.persist(files_.inode(number).file.mark());
  auto& root = files_.inode(*files_.directory("/")).directory;
  root.persist(root.mark());
  ASSERT_TRUE(files_.remove("/file"));
  EXPECT_EQ(files_.used_bytes(), 0);
  env::Random random(1);
  files_.lose_power(random, PowerLoss::drop_all);
  EXPECT_EQ(files_.list("/")->size(), 1U);
  EXPECT_EQ(files_.used_bytes(), kPageBytes);
}

TEST_F(FileSystemTest, AFullDiskTakesAPartOfAWrite) {
  const auto number = *files_.open("/file", env::OpenMode::create_new);
  const std::string text(12 * kPageBytes, 'x');
  EXPECT_EQ(files_.write(number, as_bytes(text), 0), static_cast<std::size_t>(10 * kPageBytes));
  EXPECT_EQ(files_.free_bytes(), 0);
  EXPECT_EQ(files_.open("/other", env::OpenMode::create_new).error().code, ErrorCode::no_space);
  files_.truncate(number, kPageBytes);
  EXPECT_EQ(files_.free_bytes(), 9 * kPageBytes);
}

TEST_F(FileSystemTest, TheSpaceOfARemovedFileComesBackWithItsLastHandle) {
  const InodeNumber number = create("/file", "text");
  files_.reference(number);
  ASSERT_TRUE(files_.remove("/file"));
  EXPECT_EQ(files_.used_bytes(), kPageBytes);
  files_.dereference(number);
  EXPECT_EQ(files_.used_bytes(), 0);
}

TEST_F(FileSystemTest, InodesOfRemovedFilesDoNotPileUp) {
  for (int round = 0; round < 10'000; ++round) {
    create("/file", "text");
    ASSERT_TRUE(files_.remove("/file"));
    auto& root = files_.inode(*files_.directory("/")).directory;
    root.persist(root.mark());
  }
  EXPECT_LT(files_.inode_count(), 200U);
}

}  // namespace
}  // namespace booblik::sim
