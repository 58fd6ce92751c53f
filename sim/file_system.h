// The file system of one machine: paths, names, inodes and space, as every process of the machine sees it,
// and what of it survives the power. It outlives processes. Nothing here takes time or fails by chance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "env/disk.h"
#include "env/random.h"
#include "sim/directory_image.h"
#include "sim/faults.h"
#include "sim/file_image.h"

namespace booblik::sim {

class FileSystem {
 public:
  FileSystem(std::int64_t capacity_bytes, DeviceGuarantees guarantees);

  struct Inode {
    bool is_directory = false;
    FileImage file;
    DirectoryImage directory;
    InodeNumber parent = 0;       // the directory in which it was created
    std::int64_t names = 0;       // that programs see
    std::int64_t references = 0;  // open handles and bytes in flight
    std::int64_t charged_bytes = 0;
    bool cut = false;  // by a truncation, since its last sync
  };

  // --- names. Errors: not_found, already_exists, no_space, io (not a directory and the like) ---
  [[nodiscard]] Result<InodeNumber> open(const std::string& path, env::OpenMode mode);
  [[nodiscard]] Result<void> create_directory(const std::string& path);
  [[nodiscard]] Result<std::vector<env::DirectoryEntry>> list(const std::string& path) const;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to);
  [[nodiscard]] Result<void> remove(const std::string& path);
  [[nodiscard]] Result<InodeNumber> directory(const std::string& path) const;

  // --- inodes; a number from open stays valid while it is referenced ---
  [[nodiscard]] Inode& inode(InodeNumber number);
  void reference(InodeNumber number);
  void dereference(InodeNumber number);

  // Writes what there is space for and returns how many bytes that were.
  std::size_t write(InodeNumber number, Bytes bytes, std::int64_t position);
  void truncate(InodeNumber number, std::int64_t size);

  // Dropped pages leave the cache; false when there is no such file any more.
  bool evict(InodeNumber number);

  // The name of a new file becomes durable with it, if the device says so.
  void persist_name_with_file(InodeNumber number);

  // --- space ---
  [[nodiscard]] std::int64_t free_bytes() const { return capacity_bytes_ - used_bytes_; }
  void set_capacity(std::int64_t capacity_bytes) { capacity_bytes_ = capacity_bytes; }
  [[nodiscard]] std::int64_t used_bytes() const { return used_bytes_; }

  // No handle may be left. `kind` is drawn once for all files, or, when it is nullopt, for each file of its
  // own.
  // Returns the kinds that met bytes which were not durable.
  std::set<PowerLoss> lose_power(env::Random& random, std::optional<PowerLoss> kind);

  // After rot or eviction changed an image directly.
  void recharge(InodeNumber number);

  [[nodiscard]] std::size_t inode_count() const { return inodes_.size(); }
  // Some file that has a name, and its path; nullopt when none was found soon.
  [[nodiscard]] std::optional<std::pair<std::string, InodeNumber>> draw_file(env::Random& random) const;
  // For oracles: a copy of everything below `path` as programs see it.
  [[nodiscard]] std::map<std::string, PagedBytes> snapshot(const std::string& path) const;

 private:
  struct Place {  // where a path leads: a directory, and a name in it that may be missing
    InodeNumber directory = 0;
    std::string name;
  };

  [[nodiscard]] Result<InodeNumber> walk(std::string_view path) const;
  [[nodiscard]] Result<Place> place(const std::string& path) const;
  [[nodiscard]] const Inode& at(InodeNumber number) const { return inodes_.at(number); }
  InodeNumber create(Place place, bool is_directory);
  void charge(Inode& inode);
  void free_if_unused(InodeNumber number);
  void drop_name(InodeNumber number);
  void sweep();
  void recount();

  static constexpr InodeNumber kRoot = 1;

  std::int64_t capacity_bytes_;
  DeviceGuarantees guarantees_;
  std::map<InodeNumber, Inode> inodes_;
  InodeNumber next_ = kRoot + 1;
  std::int64_t used_bytes_ = 0;
  std::size_t sweep_at_ = 64;  // inodes
};

}  // namespace booblik::sim
