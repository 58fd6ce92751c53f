// A disk in memory for tests of the log: what was synced is kept apart, so that the power can go; any
// operation can be made to fail, or to be a moment at which something else happens. Never parks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "env/disk.h"

namespace booblik::log {

class MemoryDisk final : public env::Disk {
 public:
  using Content = std::vector<std::byte>;

  enum class Operation {
    open,
    create,
    create_directory,
    list,
    read,
    size,
    write,
    sync,
    truncate,
    rename,
    remove,
    sync_directory,
    lock,
  };

  // What happens at an operation: it fails, perhaps after a part of a write; or, with nothing set, it goes
  // on.
  struct Verdict {
    std::optional<ErrorCode> error;
    std::size_t bytes_written = 0;
  };
  // Asked before each operation.
  std::function<Verdict(Operation, const std::string& path)> intercept;

  std::size_t open_max = 1000;

  // --- what is there ---
  [[nodiscard]] bool exists(const std::string& path) const { return names_.contains(path); }
  [[nodiscard]] bool has_durable_name(const std::string& path) const { return durable_names_.contains(path); }
  [[nodiscard]] Content& content(const std::string& path) { return names_.at(path)->now; }
  void put(const std::string& path, Content content);  // durable
  [[nodiscard]] std::map<std::string, Content> snapshot() const;
  void restore(const std::map<std::string, Content>& files);  // durable; directories stay

  // --- the power goes. Handles must be closed. ---
  // Keeps what was synced, and of everything else what the choices say: for each un-synced name change, and
  // for each block of 512 bytes that differs from the durable content.
  void lose_power(const std::function<bool()>& survives);

  // --- counters ---
  std::map<Operation, std::int64_t> counts;
  std::size_t open_now = 0;
  std::size_t open_peak = 0;
  std::size_t reclaimed = 0;

  // --- env::Disk ---
  [[nodiscard]] Result<std::unique_ptr<env::File>> open(const std::string& path, env::OpenMode mode) override;
  [[nodiscard]] Result<void> create_directory(const std::string& path) override;
  [[nodiscard]] Result<std::vector<env::DirectoryEntry>> list(const std::string& path) override;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  void reclaim(std::unique_ptr<env::File> file) override;
  [[nodiscard]] Result<void> sync_directory(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<env::DirectoryLock>> lock(const std::string& directory) override;
  [[nodiscard]] Result<std::int64_t> free_space(const std::string&) override {
    return std::int64_t{1} << 40U;
  }

 private:
  friend class MemoryFile;

  struct Inode {
    Content now;
    Content durable;
  };

  Verdict ask(Operation operation, const std::string& path);

  std::map<std::string, std::shared_ptr<Inode>> names_;
  std::map<std::string, std::shared_ptr<Inode>> durable_names_;
  std::set<std::string> directories_{"data"};
  std::set<std::string> durable_directories_{"data"};
  bool locked_ = false;
};

}  // namespace booblik::log
