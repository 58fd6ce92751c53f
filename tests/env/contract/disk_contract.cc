#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "contract/contract.h"
#include "env/sync.h"

namespace booblik::env {
namespace {

std::string read_text(File& file, Position position, std::size_t length) {
  std::string text(length, '?');
  const auto read = file.read_at(std::as_writable_bytes(std::span(text)), position);
  EXPECT_TRUE(read) << read.error().message;
  text.resize(read.value_or(0));
  return text;
}

void write_text(File& file, Position position, std::string_view text) {
  const Bytes part = as_bytes(text);
  const auto written = file.write_at(std::span(&part, 1), position);
  EXPECT_TRUE(written) << written.error().message;
}

std::unique_ptr<File> create(Environment& env, const std::string& path, std::string_view text = "") {
  auto file = env.disk.open(path, OpenMode::create_new);
  EXPECT_TRUE(file) << file.error().message;
  write_text(**file, Position(0), text);
  return std::move(*file);
}

TEST_P(DiskContract, ReadsSeeWritesAndStopAtTheEnd) {
  run([this](Environment& env) {
    const auto file = create(env, path("a"), "hello");
    EXPECT_EQ(read_text(*file, Position(0), 5), "hello");
    EXPECT_EQ(read_text(*file, Position(3), 10), "lo");
    EXPECT_EQ(read_text(*file, Position(5), 10), "");
    EXPECT_EQ(read_text(*file, Position(500), 10), "");
    EXPECT_EQ(file->size(), 5);
    write_text(*file, Position(1), "EY");
    EXPECT_EQ(read_text(*file, Position(0), 5), "hEYlo");
  });
}

TEST_P(DiskContract, ABytelessReadIsNothing) {
  run([this](Environment& env) {
    const auto file = create(env, path("a"), "x");
    EXPECT_EQ(file->read_at(MutableBytes(), Position(0)), 0U);
  });
}

TEST_P(DiskContract, AHoleReadsAsZeros) {
  run([this](Environment& env) {
    const auto file = create(env, path("sparse"));
    constexpr std::int64_t kFar = 3 * 1024 * 1024 + 17;
    write_text(*file, Position(kFar), "end");
    EXPECT_EQ(file->size(), kFar + 3);
    EXPECT_EQ(read_text(*file, Position(1'000'000), 4), std::string(4, '\0'));
    EXPECT_EQ(read_text(*file, Position(kFar - 2), 100), std::string(2, '\0') + "end");
  });
}

TEST_P(DiskContract, AGatherWritePutsThePartsOneBehindTheOther) {
  run([this](Environment& env) {
    const auto file = create(env, path("gather"));
    // More parts than one system call takes, some of them empty.
    std::vector<std::string> texts;
    std::string expected = "__";
    for (int index = 0; index < 3000; ++index) {
      texts.push_back(index % 7 == 0 ? "" : std::to_string(index) + ",");
      expected += texts.back();
    }
    std::vector<Bytes> parts;
    std::transform(texts.begin(), texts.end(), std::back_inserter(parts),
                   [](const std::string& text) { return as_bytes(text); });
    write_text(*file, Position(0), "__");
    EXPECT_TRUE(file->write_at(parts, Position(2)));
    EXPECT_EQ(read_text(*file, Position(0), expected.size() + 1), expected);
    EXPECT_TRUE(file->write_at({}, Position(0)));
    EXPECT_EQ(std::cmp_equal(file->size().value_or(-1), expected.size()), true);
  });
}

TEST_P(DiskContract, TruncateCutsAndExtends) {
  run([this](Environment& env) {
    const auto file = create(env, path("cut"), "0123456789");
    EXPECT_TRUE(file->truncate(4));
    EXPECT_EQ(read_text(*file, Position(0), 100), "0123");
    EXPECT_TRUE(file->truncate(6));
    EXPECT_EQ(read_text(*file, Position(0), 100), std::string("0123") + std::string(2, '\0'))
        << "what was cut does not come back";
    EXPECT_EQ(file->size(), 6);
  });
}

TEST_P(DiskContract, OpenModesMeanWhatTheySay) {
  run([this](Environment& env) {
    EXPECT_EQ(env.disk.open(path("none"), OpenMode::read_only).error().code, ErrorCode::not_found);
    EXPECT_EQ(env.disk.open(path("none"), OpenMode::read_write).error().code, ErrorCode::not_found);
    EXPECT_EQ(env.disk.open(path("no/such/directory"), OpenMode::create_new).error().code,
              ErrorCode::not_found);
    create(env, path("some"), "text");
    EXPECT_EQ(env.disk.open(path("some"), OpenMode::create_new).error().code, ErrorCode::already_exists);
    const auto reader = env.disk.open(path("some"), OpenMode::read_only);
    ASSERT_TRUE(reader);
    EXPECT_EQ(read_text(**reader, Position(0), 9), "text");
    const Bytes part = as_bytes("no");
    EXPECT_FALSE((*reader)->write_at(std::span(&part, 1), Position(0)));
    const auto writer = env.disk.open(path("some"), OpenMode::read_write);
    ASSERT_TRUE(writer);
    write_text(**writer, Position(0), "T");
    EXPECT_EQ(read_text(**reader, Position(0), 9), "Text") << "every handle sees every write";
  });
}

TEST_P(DiskContract, ErrorsNameTheFile) {
  run([this](Environment& env) {
    const auto missing = env.disk.open(path("missing.log"), OpenMode::read_only);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("missing.log"), std::string::npos) << missing.error().message;
  });
}

TEST_P(DiskContract, ABarrierReturns) {
  run([this](Environment& env) {
    const auto file = create(env, path("synced"), "bytes");
    EXPECT_TRUE(file->sync_data());
    EXPECT_TRUE(env.disk.sync_directory(world_->directory()));
    EXPECT_FALSE(file->poisoned());
    EXPECT_EQ(env.disk.sync_directory(path("none")).error().code, ErrorCode::not_found);
  });
}

TEST_P(DiskContract, OtherFibersRunDuringABarrier) {
  run([this](Environment& env) {
    const auto file = create(env, path("synced"), "bytes");
    bool ran = false;
    env.scheduler.spawn("other", [&] { ran = true; });
    EXPECT_TRUE(file->sync_data());
    EXPECT_TRUE(ran);
  });
}

TEST_P(DiskContract, AFailedSyncPoisonsTheFileForWritingOnly) {
  run([this](Environment& env) {
    const auto file = create(env, path("poisoned"), "before");
    const auto other = create(env, path("healthy"), "before");
    world_->fail_next_sync();
    EXPECT_EQ(file->sync_data().error().code, ErrorCode::io);
    EXPECT_TRUE(file->poisoned());
    const Bytes part = as_bytes("after");
    EXPECT_EQ(file->write_at(std::span(&part, 1), Position(0)).error().code, ErrorCode::poisoned);
    EXPECT_EQ(file->sync_data().error().code, ErrorCode::poisoned);
    EXPECT_EQ(file->truncate(0).error().code, ErrorCode::poisoned);
    EXPECT_EQ(file->size(), 6);
    std::array<std::byte, 6> buffer;
    EXPECT_TRUE(file->read_at(buffer, Position(0)));
    EXPECT_TRUE(other->sync_data()) << "another file is not touched by it";
  });
}

TEST_P(DiskContract, ARemovedFileStaysReadableThroughItsHandles) {
  run([this](Environment& env) {
    const auto file = create(env, path("removed"), "still here");
    EXPECT_TRUE(env.disk.remove(path("removed")));
    EXPECT_EQ(read_text(*file, Position(0), 100), "still here");
    EXPECT_EQ(env.disk.open(path("removed"), OpenMode::read_only).error().code, ErrorCode::not_found);
    EXPECT_EQ(env.disk.remove(path("removed")).error().code, ErrorCode::not_found);
    create(env, path("removed"), "another");
    EXPECT_EQ(read_text(*file, Position(0), 100), "still here");
  });
}

TEST_P(DiskContract, RenameReplacesAndOldHandlesKeepTheOldFile) {
  run([this](Environment& env) {
    const auto old_file = create(env, path("checkpoint"), "old");
    create(env, path("checkpoint.new"), "new");
    EXPECT_TRUE(env.disk.rename(path("checkpoint.new"), path("checkpoint")));
    const auto replaced = env.disk.open(path("checkpoint"), OpenMode::read_only);
    ASSERT_TRUE(replaced);
    EXPECT_EQ(read_text(**replaced, Position(0), 9), "new");
    EXPECT_EQ(read_text(*old_file, Position(0), 9), "old");
    EXPECT_EQ(env.disk.open(path("checkpoint.new"), OpenMode::read_only).error().code, ErrorCode::not_found);
    EXPECT_EQ(env.disk.rename(path("none"), path("x")).error().code, ErrorCode::not_found);
  });
}

TEST_P(DiskContract, ListIsSortedByBytesAndSaysWhatIsWhat) {
  run([this](Environment& env) {
    for (const char* name : {"b", "a10", "a9", "Z", "\xD1\x8F"}) {
      create(env, path(name), name);
    }
    EXPECT_TRUE(env.disk.create_directory(path("dir")));
    EXPECT_TRUE(env.disk.create_directory(path("dir"))) << "that it is there already is a success";
    const auto entries = env.disk.list(world_->directory());
    ASSERT_TRUE(entries);
    const std::vector<DirectoryEntry> expected{{"Z", false, true, 1},   {"a10", false, true, 3},
                                               {"a9", false, true, 2},  {"b", false, true, 1},
                                               {"dir", true, false, 0}, {"\xD1\x8F", false, true, 2}};
    EXPECT_EQ(*entries, expected);
    EXPECT_EQ(env.disk.list(path("dir")), std::vector<DirectoryEntry>{});
    EXPECT_EQ(env.disk.list(path("none")).error().code, ErrorCode::not_found);
  });
}

TEST_P(DiskContract, CreatingADirectoryOverAFileOrWithoutItsParentFails) {
  run([this](Environment& env) {
    create(env, path("file"));
    EXPECT_FALSE(env.disk.create_directory(path("file")));
    EXPECT_EQ(env.disk.create_directory(path("no/parent")).error().code, ErrorCode::not_found);
  });
}

TEST_P(DiskContract, TheLockIsExclusiveAndEndsWithItsOwner) {
  run([this](Environment& env) {
    auto first = env.disk.lock(world_->directory());
    ASSERT_TRUE(first) << first.error().message;
    const auto second = env.disk.lock(world_->directory());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::locked);
    EXPECT_NE(second.error().message.find(world_->directory()), std::string::npos) << second.error().message;
    const auto file = env.disk.open(path("lock"), OpenMode::read_only);
    ASSERT_TRUE(file);
    const std::string text = read_text(**file, Position(0), 100);
    const std::string process = text.substr(0, text.find('\n'));
    ASSERT_FALSE(process.empty());
    EXPECT_EQ(process.find_first_not_of("0123456789"), std::string::npos) << text;
    EXPECT_NE(second.error().message.find(process), std::string::npos) << second.error().message;
    first->reset();
    EXPECT_TRUE(env.disk.lock(world_->directory())) << "a lock file without an owner locks nobody out";
  });
}

TEST_P(DiskContract, ReclaimTakesAFileAndTheRestGoesOn) {
  run([this](Environment& env) {
    auto file = create(env, path("large"));
    write_text(*file, Position(40 * 1024 * 1024), "end");
    EXPECT_TRUE(env.disk.remove(path("large")));
    env.disk.reclaim(std::move(file));
    const auto other = create(env, path("other"), "bytes");
    EXPECT_TRUE(other->sync_data());
    EXPECT_EQ(read_text(*other, Position(0), 9), "bytes");
  });
}

TEST_P(DiskContract, FreeSpaceIsKnown) {
  run([this](Environment& env) {
    const auto space = env.disk.free_space(world_->directory());
    ASSERT_TRUE(space);
    EXPECT_GT(*space, 0);
    EXPECT_FALSE(env.disk.free_space(path("none")));
  });
}

TEST_P(DiskContract, ManyFibersUseOneFile) {
  run([this](Environment& env) {
    const auto file = create(env, path("shared"));
    WaitGroup group(env.scheduler);
    constexpr int kFibers = 16;
    for (int index = 0; index < kFibers; ++index) {
      group.add();
      env.scheduler.spawn("writer", [&, index] {
        const std::string text(1000, static_cast<char>('a' + index));
        write_text(*file, Position(index * 1000), text);
        EXPECT_TRUE(file->sync_data());
        EXPECT_EQ(read_text(*file, Position(index * 1000), 1000), text);
        group.done();
      });
    }
    EXPECT_TRUE(group.wait(soon(env)));
    EXPECT_EQ(file->size(), kFibers * 1000);
  });
}

}  // namespace
}  // namespace booblik::env
