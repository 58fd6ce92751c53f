// The disk as one process sees it: env::Disk on a DiskDevice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "env/disk.h"
#include "sim/process.h"

namespace booblik::sim {

class SimDisk final : public env::Disk {
 public:
  // All of it is borrowed.
  SimDisk(Core& core, Process& process, CrashHandler& crashes)
      : core_(core), process_(process), crashes_(crashes) {}

  Result<std::unique_ptr<env::File>> open(const std::string& path, env::OpenMode mode) override;
  Result<void> create_directory(const std::string& path) override;
  Result<std::vector<env::DirectoryEntry>> list(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  void reclaim(std::unique_ptr<env::File> file) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<std::unique_ptr<env::DirectoryLock>> lock(const std::string& directory) override;
  Result<std::int64_t> free_space(const std::string& path) override;

  // --- for its files and locks ---

  // An operation begins, takes its time, has its effect and ends. None of these returns when the machine goes
  // down.
  [[nodiscard]] DiskDevice::Verdict begin(DiskOperation operation, std::uint64_t subject);
  void end(const DiskDevice::Verdict& verdict, DiskOperation operation, std::string_view subject);
  void pass_time(const DiskDevice::Verdict& verdict, DiskOperation operation, std::string_view subject);
  void crash_if(DiskDevice::Crash when, const DiskDevice::Verdict& verdict);

  // A sync of the file begins; whether it fails because another one is still working on it.
  [[nodiscard]] bool begin_sync(InodeNumber number);
  void end_sync(InodeNumber number);

  void close(HandleNumber handle);
  void unlock(const std::string& directory);
  // After a while the dropped pages of a file are read from the disk again.
  void evict_later(InodeNumber number);
  [[nodiscard]] DiskDevice& device() { return process_.machine.disk; }
  [[nodiscard]] FileSystem& files() { return process_.machine.disk.files(); }
  [[nodiscard]] Core& core() { return core_; }

 private:
  template <class Do>
  [[nodiscard]] auto name_operation(DiskOperation operation, const std::string& path, Do act);
  [[nodiscard]] Result<std::unique_ptr<env::File>> make_file(InodeNumber number, const std::string& path,
                                                             env::OpenMode mode);

  Core& core_;
  Process& process_;
  CrashHandler& crashes_;
};

}  // namespace booblik::sim
