#include "env/posix/disk.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/posix/directory_listing.h"
#include "env/posix/directory_lock.h"
#include "env/posix/file.h"
#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::read_only:
      return O_RDONLY | O_CLOEXEC;
    case OpenMode::read_write:
      return O_RDWR | O_CLOEXEC;
    case OpenMode::create_new:
      return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  }
  std::unreachable();
}

}  // namespace

Result<std::unique_ptr<File>> PosixDisk::open(const std::string& path, OpenMode mode) {
  std::int64_t opened = 0;
  const auto call = [&] {
    opened = uninterrupted([&] { return system_.open(path, open_flags(mode), kFileMode); });
  };
  if (mode == OpenMode::create_new) {
    workers_.run(WorkerPool::Kind::foreground, call);
  } else {
    call();
  }
  if (opened < 0) {
    return fail_system(mode == OpenMode::create_new ? "create" : "open", path, opened);
  }
  return std::make_unique<PosixFile>(system_, workers_, path, Descriptor(system_, static_cast<int>(opened)),
                                     budget_.claim_storage());
}

Result<void> PosixDisk::create_directory(const std::string& path) {
  std::int64_t result = 0;
  workers_.run(WorkerPool::Kind::foreground, [&] { result = system_.mkdir(path, kDirectoryMode); });
  if (result == -EEXIST) {
    const auto is_directory = list_names(system_, path);
    if (is_directory) {
      return {};
    }
  }
  if (result < 0) {
    return fail_system("create directory", path, result);
  }
  return {};
}

Result<std::vector<DirectoryEntry>> PosixDisk::list(const std::string& path) {
  Result<std::vector<DirectoryEntry>> entries;
  workers_.run(WorkerPool::Kind::foreground, [&] { entries = list_directory(system_, path); });
  return entries;
}

Result<void> PosixDisk::rename(const std::string& from, const std::string& to) {
  std::int64_t result = 0;
  workers_.run(WorkerPool::Kind::foreground, [&] { result = system_.rename(from, to); });
  if (result < 0) {
    return fail_system("rename", from + " to " + to, result);
  }
  return {};
}

Result<void> PosixDisk::remove(const std::string& path) {
  std::int64_t result = 0;
  workers_.run(WorkerPool::Kind::foreground, [&] { result = system_.unlink(path); });
  if (result < 0) {
    return fail_system("remove", path, result);
  }
  return {};
}

void PosixDisk::reclaim(std::unique_ptr<File> file) {
  auto* ours = dynamic_cast<PosixFile*>(file.get());
  BOOBLIK_CHECK(ours != nullptr, "a file is reclaimed by the disk that opened it");
  auto [descriptor, claim] = std::move(*ours).take();
  reclaimer_.take(std::move(descriptor), std::move(claim));
}

Result<void> PosixDisk::sync_directory(const std::string& path) {
  std::string_view operation = "open directory";
  std::int64_t result = 0;
  workers_.run(WorkerPool::Kind::barrier, [&] {
    result = uninterrupted([&] { return system_.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0); });
    if (result >= 0) {
      const Descriptor directory(system_, static_cast<int>(result));
      operation = "sync directory";
      result = uninterrupted([&] { return system_.fsync(directory.get()); });
    }
  });
  if (result < 0) {
    return fail_system(operation, path, result);
  }
  return {};
}

Result<std::unique_ptr<DirectoryLock>> PosixDisk::lock(const std::string& directory) {
  return lock_directory(system_, budget_, directory);
}

Result<std::int64_t> PosixDisk::free_space(const std::string& path) {
  struct statvfs space{};
  const std::int64_t result = uninterrupted([&] { return system_.statvfs(path, &space); });
  if (result < 0) {
    return fail_system("look at the file system of", path, result);
  }
  return static_cast<std::int64_t>(space.f_bavail * space.f_frsize);
}

}  // namespace booblik::env
