#include "sim/sim_disk.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "sim/sim_file.h"

namespace booblik::sim {
namespace {

// When the space of a removed file comes back.
constexpr Duration kReclaimAfter{50'000'000};

class SimLock final : public env::DirectoryLock {
 public:
  SimLock(SimDisk& disk, std::string directory) : disk_(disk), directory_(std::move(directory)) {}
  ~SimLock() override { disk_.unlock(directory_); }

 private:
  SimDisk& disk_;
  std::string directory_;
};

}  // namespace

DiskDevice::Verdict SimDisk::begin(DiskOperation operation, std::uint64_t subject) {
  const HeapScope world(nullptr);
  const DiskDevice::Verdict verdict = device().begin(operation);
  core_.fingerprint.mix((static_cast<std::uint64_t>(operation) << 56U) ^ subject);
  crash_if(DiskDevice::Crash::before, verdict);
  return verdict;
}

void SimDisk::crash_if(DiskDevice::Crash when, const DiskDevice::Verdict& verdict) {
  if (verdict.power_loss == when && when != DiskDevice::Crash::none) {
    crashes_.lose_power(process_.machine);
  }
  if (verdict.kill == when && when != DiskDevice::Crash::none) {
    crashes_.kill(process_.id);
  }
}

void SimDisk::pass_time(const DiskDevice::Verdict& verdict, DiskOperation operation,
                        std::string_view subject) {
  if (!verdict.parks) {
    return;
  }
  const Instant began = core_.scheduler.now();
  core_.scheduler.sleep(verdict.duration, to_text(operation), subject);
  if (core_.trace.enabled()) {
    const HeapScope world(nullptr);
    core_.trace.span(began, core_.scheduler.now(), core_.scheduler.current_track(), "disk",
                     fmt::format("{} {}", to_text(operation), subject));
  }
}

void SimDisk::end(const DiskDevice::Verdict& verdict, DiskOperation operation, std::string_view subject) {
  const HeapScope world(nullptr);
  if (verdict.error) {
    device().note_error(operation, subject);
  }
  if (verdict.error || verdict.no_space || verdict.too_many_files) {
    if (core_.trace.enabled()) {
      core_.trace.mark(core_.scheduler.now(), core_.scheduler.current_track(), "fault",
                       fmt::format("{} {} fails", to_text(operation), subject));
    }
  }
  crash_if(DiskDevice::Crash::within, verdict);
  crash_if(DiskDevice::Crash::after, verdict);
}

// A change or a look at names, as a whole: the power goes before it or after it.
template <class Do>
auto SimDisk::name_operation(DiskOperation operation, const std::string& path, Do act) {
  const DiskDevice::Verdict verdict = begin(operation, path.size());
  pass_time(verdict, operation, path);
  using Made = decltype(act());
  if (verdict.error) {
    end(verdict, operation, path);
    return Made(fail(ErrorCode::io, fmt::format("{} {}: input/output error", to_text(operation), path)));
  }
  auto made = from_world(act);
  end(verdict, operation, path);
  return made;
}

Result<std::unique_ptr<env::File>> SimDisk::make_file(InodeNumber number, const std::string& path,
                                                      env::OpenMode mode) {
  HandleNumber handle = 0;
  {
    const HeapScope world(nullptr);
    handle = process_.next_handle++;
    files().reference(number);
    process_.files.emplace(handle, number);
  }
  return std::make_unique<SimFile>(*this, handle, number, path, mode != env::OpenMode::read_only);
}

Result<std::unique_ptr<env::File>> SimDisk::open(const std::string& path, env::OpenMode mode) {
  const DiskDevice::Verdict verdict = begin(DiskOperation::open, path.size());
  pass_time(verdict, DiskOperation::open, path);
  if (verdict.too_many_files || process_.out_of_handles()) {
    if (process_.out_of_handles()) {
      core_.probes.hit("sim.disk.out_of_handles");
    }
    end(verdict, DiskOperation::open, path);
    return fail(ErrorCode::too_many_files, fmt::format("open {}: too many open files", path));
  }
  if (verdict.no_space && mode == env::OpenMode::create_new) {
    end(verdict, DiskOperation::open, path);
    return fail(ErrorCode::no_space, fmt::format("open {}: no space left on the device", path));
  }
  if (verdict.error) {
    end(verdict, DiskOperation::open, path);
    return fail(ErrorCode::io, fmt::format("open {}: input/output error", path));
  }
  auto number = from_world([&] { return files().open(path, mode); });
  if (number && mode == env::OpenMode::create_new) {
    const HeapScope world(nullptr);
    device().note_created(path);
  }
  end(verdict, DiskOperation::open, path);
  if (!number) {
    return std::unexpected(std::move(number.error()));
  }
  return make_file(*number, path, mode);
}

Result<void> SimDisk::create_directory(const std::string& path) {
  return name_operation(DiskOperation::create_directory, path,
                        [&] { return files().create_directory(path); });
}

Result<std::vector<env::DirectoryEntry>> SimDisk::list(const std::string& path) {
  return name_operation(DiskOperation::list, path, [&] { return files().list(path); });
}

Result<void> SimDisk::rename(const std::string& from, const std::string& to) {
  return name_operation(DiskOperation::rename, from, [&] { return files().rename(from, to); });
}

Result<void> SimDisk::remove(const std::string& path) {
  return name_operation(DiskOperation::remove, path, [&] { return files().remove(path); });
}

void SimDisk::reclaim(std::unique_ptr<env::File> file) {
  const HandleNumber handle = dynamic_cast<SimFile&>(*file).release_handle();
  core_.scheduler.at(core_.scheduler.now() + kReclaimAfter, [this, handle] {
    close(handle);
    --process_.reclaiming;
  });
  ++process_.reclaiming;
}

Result<void> SimDisk::sync_directory(const std::string& path) {
  const DiskDevice::Verdict verdict = begin(DiskOperation::sync_directory, path.size());
  auto number = from_world([&] { return files().directory(path); });
  if (!number) {
    end(verdict, DiskOperation::sync_directory, path);
    return std::unexpected(std::move(number.error()));
  }
  // Names cannot be dropped and stay visible: a journal that fails takes the whole file system with it.
  const bool durable = !verdict.error || verdict.sync_failure == SyncFailure::durable_anyway;
  const DirectoryImage::Mark mark = files().inode(*number).directory.mark();
  pass_time(verdict, DiskOperation::sync_directory, path);
  if (auto still = from_world([&] { return files().directory(path); });
      durable && still && *still == *number) {
    crash_if(DiskDevice::Crash::within, verdict);
    const HeapScope world(nullptr);
    files().inode(*number).directory.persist(mark);
  }
  end(verdict, DiskOperation::sync_directory, path);
  if (verdict.error) {
    return fail(ErrorCode::io, fmt::format("sync directory {}: input/output error", path));
  }
  return {};
}

Result<std::unique_ptr<env::DirectoryLock>> SimDisk::lock(const std::string& directory) {
  const DiskDevice::Verdict verdict = begin(DiskOperation::lock, directory.size());
  auto taken = from_world([&]() -> Result<void> {
    const auto found = files().directory(directory);
    if (!found) {
      return std::unexpected(found.error());
    }
    const auto [holder, is_new] = process_.machine.locks.emplace(directory, process_.id);
    if (!is_new) {
      return fail(ErrorCode::locked,
                  fmt::format("{} is locked by process {}", directory, holder->second.value));
    }
    // The file holds the owner's number; nothing depends on it after a crash.
    const std::string path = directory + "/lock";
    auto number = files().open(path, env::OpenMode::read_write);
    if (!number) {
      number = files().open(path, env::OpenMode::create_new);
    }
    if (number) {
      files().truncate(*number, 0);
      files().write(*number, as_bytes(std::to_string(process_.id.value)), 0);
    }
    return {};
  });
  end(verdict, DiskOperation::lock, directory);
  if (!taken) {
    return std::unexpected(std::move(taken.error()));
  }
  return std::make_unique<SimLock>(*this, directory);
}

Result<std::int64_t> SimDisk::free_space(const std::string& path) {
  return from_world([&]() -> Result<std::int64_t> {
    const auto found = files().directory(path);
    if (!found) {
      return std::unexpected(found.error());
    }
    return std::max<std::int64_t>(0, files().free_bytes());
  });
}

bool SimDisk::begin_sync(InodeNumber number) {
  const HeapScope world(nullptr);
  Process::Syncs& syncs = process_.syncs[number];
  const bool beside_another = ++syncs.under_way > 1;
  if (!beside_another || syncs.one_fails || !device().fails_beside()) {
    return false;
  }
  syncs.one_fails = true;
  return true;
}

void SimDisk::end_sync(InodeNumber number) {
  const HeapScope world(nullptr);
  const auto found = process_.syncs.find(number);
  if (--found->second.under_way == 0) {
    process_.syncs.erase(found);
  }
}

void SimDisk::close(HandleNumber handle) {
  const HeapScope world(nullptr);
  const auto found = process_.files.find(handle);
  if (found != process_.files.end()) {
    files().dereference(found->second);
    process_.files.erase(found);
  }
}

void SimDisk::evict_later(InodeNumber number) {
  const Duration after(static_cast<std::int64_t>(device().partial().below(20'000'000'000)));
  // The page cache is the machine's: by then the process may be gone, and the file too.
  core_.scheduler.at(core_.scheduler.now() + after, [this, number] {
    if (files().evict(number)) {
      core_.probes.hit("sim.disk.evicted");
    }
  });
}

void SimDisk::unlock(const std::string& directory) {
  const HeapScope world(nullptr);
  process_.machine.locks.erase(directory);
}

}  // namespace booblik::sim
