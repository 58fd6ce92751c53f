// The disk of the production environment against system calls that fail.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "env/posix/directory_listing.h"
#include "env/posix/file.h"
#include "env/sync.h"
#include "posix/posix_world.h"

namespace booblik::env {
namespace {

std::vector<int> open_descriptors() {
  SystemCalls system;
  std::vector<int> open;
  const auto names = list_names(system, "/proc/self/fd");
  for (const std::string& name : names.value()) {
    const int descriptor = std::stoi(name);
    if (::fcntl(descriptor, F_GETFD) >= 0) {  // the one of the listing itself is closed
      open.push_back(descriptor);
    }
  }
  return open;
}

class DiskFaultTest : public ::testing::Test {
 protected:
  void run(const std::function<void(Environment&)>& body) { world_.run(body); }
  [[nodiscard]] std::string path(const std::string& name) const { return world_.directory() + "/" + name; }

  std::unique_ptr<File> create(Environment& env, const std::string& name) {
    auto file = env.disk.open(path(name), OpenMode::create_new);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(*file);
  }

  static Result<void> write(File& file, std::int64_t position, std::string_view text) {
    const Bytes part = as_bytes(text);
    return file.write_at(std::span(&part, 1), Position(position));
  }

  static std::string read(File& file, std::int64_t position, std::size_t length) {
    std::string text(length, '?');
    const auto bytes = file.read_at(std::as_writable_bytes(std::span(text)), Position(position));
    EXPECT_TRUE(bytes) << bytes.error().message;
    text.resize(bytes.value_or(0));
    return text;
  }

  // What a read that must not wait says: 1, or -EAGAIN for cold, -EOPNOTSUPP on a file system that cannot
  // tell.
  static std::int64_t read_without_waiting(File& file, std::int64_t position) {
    char byte = 0;
    const iovec part{&byte, 1};
    SystemCalls system;
    return system.preadv2(dynamic_cast<PosixFile&>(file).descriptor(), &part, 1, position, RWF_NOWAIT);
  }

  // Takes the file's bytes out of the page cache. False where the file system keeps them there.
  static bool evict(File& file, std::int64_t length) {
    EXPECT_TRUE(file.sync_data());
    ::posix_fadvise(dynamic_cast<PosixFile&>(file).descriptor(), 0, length, POSIX_FADV_DONTNEED);
    return read_without_waiting(file, 0) == -EAGAIN;
  }

  const std::vector<int> inherited_ = open_descriptors();
  PosixWorld world_;
  FaultySystemCalls& system_ = world_.system();
};

TEST_F(DiskFaultTest, InterruptedCallsAreMadeAgain) {
  for (const Call call : {Call::open, Call::preadv2, Call::pwritev, Call::fdatasync, Call::fsync,
                          Call::ftruncate, Call::getdents, Call::flock, Call::epoll_wait, Call::write}) {
    system_.inject({.call = call, .result = -EINTR, .every = 2});
  }
  run([&](Environment& env) {
    const auto file = create(env, "a");
    for (int round = 0; round < 4; ++round) {
      EXPECT_TRUE(write(*file, round * 5, "hello"));
      EXPECT_TRUE(file->sync_data());
      EXPECT_EQ(read(*file, round * 5, 5), "hello");
      EXPECT_TRUE(file->truncate(5 * round + 5));
      EXPECT_TRUE(env.disk.sync_directory(world_.directory()));
      EXPECT_TRUE(env.disk.lock(world_.directory()));
      EXPECT_TRUE(env.disk.list(world_.directory()));
    }
    EXPECT_EQ(file->size(), 20);
  });
  EXPECT_GE(system_.count(Call::fdatasync), 8);
}

TEST_F(DiskFaultTest, ShortWritesAreContinued) {
  system_.inject({.call = Call::pwritev, .result = 0, .max_bytes = 3});
  run([&](Environment& env) {
    const auto file = create(env, "a");
    const std::array<Bytes, 5> parts{as_bytes("01"), as_bytes(""), as_bytes("2345678"), as_bytes("9"),
                                     as_bytes("abcdef")};
    EXPECT_TRUE(file->write_at(parts, Position(4)));
    EXPECT_EQ(read(*file, 4, 100), "0123456789abcdef");
  });
  EXPECT_GE(system_.count(Call::pwritev), 6);
}

TEST_F(DiskFaultTest, ShortReadsAreContinued) {
  run([&](Environment& env) {
    const auto file = create(env, "a");
    EXPECT_TRUE(write(*file, 0, "0123456789"));
    system_.inject({.call = Call::preadv2, .result = 0, .max_bytes = 3});
    EXPECT_EQ(read(*file, 0, 10), "0123456789");
    EXPECT_EQ(read(*file, 5, 10), "56789");
  });
}

TEST_F(DiskFaultTest, AFullDiskIsNoSpaceAndWorksAgainLater) {
  run([&](Environment& env) {
    const auto file = create(env, "a");
    EXPECT_TRUE(write(*file, 0, "kept"));
    // Half of the write goes, then the disk is full: what the kernel does.
    system_.inject({.call = Call::pwritev, .result = 0, .times = 1, .max_bytes = 2});
    system_.inject({.call = Call::pwritev, .result = -ENOSPC, .skip = 1});
    const auto full = write(*file, 4, "group");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::no_space);
    EXPECT_NE(full.error().message.find(path("a")), std::string::npos) << full.error().message;
    EXPECT_EQ(file->size(), 6);
    EXPECT_TRUE(file->truncate(4)) << "a half-written group can be taken back";
    system_.heal();
    EXPECT_TRUE(write(*file, 4, "group"));
    EXPECT_EQ(read(*file, 0, 100), "keptgroup");
    EXPECT_FALSE(file->poisoned());
  });
}

TEST_F(DiskFaultTest, AFullDiskHasRoomForALock) {
  run([&](Environment& env) {
    ASSERT_TRUE(env.disk.lock(world_.directory()));
    for (const std::int64_t error : {-ENOSPC, -EDQUOT}) {
      system_.inject({.call = Call::pwritev, .result = error, .times = 1});
      const auto lock = env.disk.lock(world_.directory());
      ASSERT_TRUE(lock) << lock.error().message;
      const auto file = env.disk.open(world_.directory() + "/lock", OpenMode::read_only);
      EXPECT_EQ((*file)->size(), 0) << "no number is better than a wrong one";
      EXPECT_EQ(env.disk.lock(world_.directory()).error().code, ErrorCode::locked);
    }
    system_.inject({.call = Call::pwritev, .result = -EIO, .times = 1});
    EXPECT_EQ(env.disk.lock(world_.directory()).error().code, ErrorCode::io);
  });
}

TEST_F(DiskFaultTest, AFailedBarrierPoisonsForGood) {
  run([&](Environment& env) {
    const auto file = create(env, "a");
    EXPECT_TRUE(write(*file, 0, "x"));
    system_.inject({.call = Call::fdatasync, .result = -EIO, .times = 1});
    EXPECT_EQ(file->sync_data().error().code, ErrorCode::io);
    system_.heal();
    const std::int64_t barriers = system_.count(Call::fdatasync);
    EXPECT_EQ(file->sync_data().error().code, ErrorCode::poisoned) << "a second barrier would lie";
    EXPECT_EQ(system_.count(Call::fdatasync), barriers);
  });
}

TEST_F(DiskFaultTest, ErrorsOfEveryCallReachTheCaller) {
  run([&](Environment& env) {
    const auto file = create(env, "a");
    EXPECT_TRUE(write(*file, 0, "x"));
    const auto fails = [&](Call call, std::int64_t error, ErrorCode expected, auto&& operation) {
      system_.inject({.call = call, .result = error});
      const auto result = operation();
      EXPECT_FALSE(result);
      EXPECT_EQ(result.error().code, expected) << result.error().message;
      EXPECT_NE(result.error().message.find(world_.directory()), std::string::npos) << result.error().message;
      system_.heal();
    };
    std::array<std::byte, 4> buffer;
    fails(Call::preadv2, -EIO, ErrorCode::io, [&] { return file->read_at(buffer, Position(0)); });
    fails(Call::ftruncate, -EIO, ErrorCode::io, [&] { return file->truncate(0); });
    fails(Call::open, -EMFILE, ErrorCode::too_many_files,
          [&] { return env.disk.open(path("b"), OpenMode::create_new); });
    fails(Call::open, -ENFILE, ErrorCode::too_many_files,
          [&] { return env.disk.open(path("a"), OpenMode::read_only); });
    fails(Call::open, -ENOSPC, ErrorCode::no_space,
          [&] { return env.disk.open(path("b"), OpenMode::create_new); });
    fails(Call::mkdir, -EDQUOT, ErrorCode::no_space, [&] { return env.disk.create_directory(path("d")); });
    fails(Call::getdents, -EIO, ErrorCode::io, [&] { return env.disk.list(world_.directory()); });
    fails(Call::rename, -EIO, ErrorCode::io, [&] { return env.disk.rename(path("a"), path("b")); });
    fails(Call::unlink, -EROFS, ErrorCode::io, [&] { return env.disk.remove(path("a")); });
    fails(Call::fsync, -EIO, ErrorCode::io, [&] { return env.disk.sync_directory(world_.directory()); });
    fails(Call::flock, -ENOLCK, ErrorCode::io, [&] { return env.disk.lock(world_.directory()); });
    EXPECT_EQ(read(*file, 0, 9), "x");
  });
}

TEST_F(DiskFaultTest, HotReadsStayOnTheReactorAndColdOnesDoNot) {
  run([&](Environment& env) {
    const auto file = create(env, "a");
    EXPECT_TRUE(write(*file, 0, std::string(100'000, 'x')));
    if (read_without_waiting(*file, 0) != 1) {
      GTEST_SKIP() << "this file system cannot read without waiting";
    }
    const std::thread::id reactor = std::this_thread::get_id();
    std::atomic<bool> blocking_on_reactor = false;
    std::atomic<bool> read_by_worker = false;
    system_.before_disk_call = [&](Call call, int flags) {
      if (call == Call::preadv2 && flags == 0) {
        (std::this_thread::get_id() == reactor ? blocking_on_reactor : read_by_worker) = true;
      }
    };
    EXPECT_EQ(read(*file, 10, 90'000).size(), 90'000U);
    EXPECT_FALSE(read_by_worker);
    // As if the bytes were not in memory, from the second call on: the front is hot, the rest is cold.
    system_.inject({.call = Call::preadv2, .result = 0, .times = 1, .max_bytes = 5000});
    system_.inject({.call = Call::preadv2, .result = -EAGAIN, .skip = 1, .times = 1});
    EXPECT_EQ(read(*file, 10, 90'000), std::string(90'000, 'x'));
    EXPECT_TRUE(read_by_worker);
    EXPECT_FALSE(blocking_on_reactor);
    system_.before_disk_call = nullptr;
  });
}

TEST_F(DiskFaultTest, ReadsWorkWithoutTheHintsOfNewKernels) {
  for (const bool cachestat_too : {false, true}) {
    system_.heal();
    run([&](Environment& env) {
      const auto file = create(env, cachestat_too ? "a" : "b");
      EXPECT_TRUE(write(*file, 0, "0123456789"));
      system_.inject({.call = Call::preadv2, .result = -EOPNOTSUPP, .times = 1});
      if (cachestat_too) {
        system_.inject({.call = Call::cachestat, .result = -ENOSYS});
      }
      EXPECT_EQ(read(*file, 0, 10), "0123456789");
      EXPECT_EQ(read(*file, 5, 10), "56789");
    });
  }
}

TEST_F(DiskFaultTest, ReallyColdBytesAreReadByAWorker) {
  run([&](Environment& env) {
    constexpr std::size_t kLength = 1'000'000;
    const auto file = create(env, "cold");
    EXPECT_TRUE(write(*file, 0, std::string(kLength, 'c')));
    if (!evict(*file, kLength)) {
      GTEST_SKIP() << "this file system keeps everything in memory";
    }
    EXPECT_TRUE(dynamic_cast<PosixFile&>(*file).make_resident(Position(100), 500'000));
    EXPECT_EQ(read_without_waiting(*file, 500'000), 1);
    EXPECT_EQ(read(*file, 0, kLength), std::string(kLength, 'c'));
  });
}

// The kernel's own readahead may be many megabytes, and a barrier of another file waits behind all of it.
TEST_F(DiskFaultTest, ColdBytesAreReadAheadPieceByPieceAndNotFar) {
  run([&](Environment& env) {
    constexpr std::int64_t kLength = std::int64_t{24} * 1024 * 1024;
    constexpr std::int64_t kWanted = 3 * PosixFile::kReadPiece;
    const auto file = create(env, "cold");
    EXPECT_TRUE(write(*file, 0, std::string(kLength, 'c')));
    auto& ours = dynamic_cast<PosixFile&>(*file);
    CacheStatistics pages;
    if (!evict(*file, kLength) || SystemCalls().cachestat(ours.descriptor(), 0, kLength, &pages) < 0) {
      GTEST_SKIP() << "this system keeps everything in memory or does not tell what it keeps";
    }
    std::vector<std::int64_t> advice_before_read;
    system_.before_disk_call = [&](Call call, int flags) {
      if (call == Call::preadv2 && flags == 0) {
        advice_before_read.push_back(system_.count(Call::fadvise));
      }
    };
    EXPECT_TRUE(ours.make_resident(Position(0), kWanted));
    system_.before_disk_call = nullptr;
    ASSERT_FALSE(advice_before_read.empty());
    EXPECT_EQ(advice_before_read.front(), 3) << "none by the kernel; the first bytes; a piece ahead";
    EXPECT_EQ(advice_before_read.back(), 5) << "one more piece for each that is waited for";
    ASSERT_GE(SystemCalls().cachestat(ours.descriptor(), 0, kLength, &pages), 0);
    EXPECT_EQ(static_cast<std::int64_t>(pages.cached) * ::sysconf(_SC_PAGESIZE),
              kWanted + PosixFile::kReadAhead);
  });
}

TEST_F(DiskFaultTest, ColdBytesComeThoughAdviceIsRefused) {
  run([&](Environment& env) {
    constexpr std::size_t kLength = 1'000'000;
    const auto file = create(env, "cold");
    EXPECT_TRUE(write(*file, 0, std::string(kLength, 'c')));
    if (!evict(*file, kLength)) {
      GTEST_SKIP() << "this file system keeps everything in memory";
    }
    system_.inject({.call = Call::fadvise, .result = -EPERM});
    EXPECT_TRUE(dynamic_cast<PosixFile&>(*file).make_resident(Position(0), kLength));
    EXPECT_EQ(read_without_waiting(*file, kLength - 1), 1);
  });
}

TEST_F(DiskFaultTest, NoDescriptorSurvivesAnExec) {
  run([&](Environment& env) {
    const auto file = create(env, "a");
    const auto lock = env.disk.lock(world_.directory());
    ASSERT_TRUE(lock);
    const auto listener = env.network.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    const auto client = env.network.connect("127.0.0.1", (*listener)->port(), soon(env));
    ASSERT_TRUE(client);
    const auto server = (*listener)->accept(soon(env));
    ASSERT_TRUE(server);
    int looked_at = 0;
    for (const int descriptor : open_descriptors()) {
      if (std::ranges::find(inherited_, descriptor) == inherited_.end()) {
        ++looked_at;
        EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << "descriptor " << descriptor;
      }
    }
    EXPECT_GE(looked_at, 7);
  });
}

}  // namespace
}  // namespace booblik::env
