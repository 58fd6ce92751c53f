// The file systems of the machine.
#pragma once

#include <string>

#include "env/disk.h"
#include "env/posix/descriptor_budget.h"
#include "env/posix/reclaimer.h"
#include "env/posix/system_calls.h"
#include "env/posix/worker_pool.h"

namespace booblik::env {

// Calls that change or read a directory (create, rename, remove, list) run in a worker: they take the
// journal's lock and may wait for a commit of somebody else's barrier. Opening a file that exists is a
// look-up in memory nearly always, and readers open segments often, so it stays on the reactor.
class PosixDisk final : public Disk {
 public:
  PosixDisk(SystemCalls& system, Reactor& reactor, WorkerPool& workers, DescriptorBudget& budget,
            Duration reclaim_spread)
      : system_(system),
        workers_(workers),
        budget_(budget),
        reclaimer_(system, reactor, workers, reclaim_spread) {}

  [[nodiscard]] Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] Result<void> create_directory(const std::string& path) override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  void reclaim(std::unique_ptr<File> file) override;
  [[nodiscard]] Result<void> sync_directory(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory) override;
  [[nodiscard]] Result<std::int64_t> free_space(const std::string& path) override;

 private:
  SystemCalls& system_;
  WorkerPool& workers_;
  DescriptorBudget& budget_;
  Reclaimer reclaimer_;
};

}  // namespace booblik::env
