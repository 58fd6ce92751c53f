// Open descriptors of segment files. A segment that is appended to, or that holds bytes not yet synced, keeps
// its handle itself: a failed sync is told once, to the handles open at the time, so closing one early would
// lose the error. All others share the bounded set here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "env/disk.h"
#include "log/lru.h"

namespace booblik::log {

// One segment file and the handle that all its users share: there is at most one at a time, so that whoever
// holds it pins the bytes, and the space of a removed file is given back when the last of them lets go.
class SegmentFile {
 public:
  SegmentFile(std::uint64_t number, std::string path);

  // Names the segment in the caches of this process.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Retention has taken the name away; handles still read.
  [[nodiscard]] bool removed() const { return removed_; }

 private:
  friend class SegmentFiles;

  std::uint64_t number_;
  std::string path_;
  std::weak_ptr<env::File> handle_;
  bool removed_ = false;
  std::shared_ptr<bool> is_waste_;  // what the deleter of the handle looks at
};

class SegmentFiles {
 public:
  // At most open_max handles stay open that nobody uses, and as many as are counted by pin(); at least one
  // each.
  SegmentFiles(env::Disk& disk, std::size_t open_max);

  [[nodiscard]] SegmentFile name(std::string path) { return {++last_number_, std::move(path)}; }

  // The handle of an existing file, for reading. When descriptors run out, closes all that are unused and
  // tries once more. Errors: not_found (retention took it), too_many_files, io. May park.
  Result<std::shared_ptr<env::File>> get(SegmentFile& file);

  // Makes the file, which must not exist, or opens it to be written; the caller keeps the handle until it has
  // been synced and then gives it to keep(). Descriptors as in get(). May park.
  Result<std::shared_ptr<env::File>> create(SegmentFile& file);
  Result<std::shared_ptr<env::File>> open_to_write(SegmentFile& file);

  // Takes a handle that need not stay open any longer.
  void keep(SegmentFile& file, std::shared_ptr<env::File> handle);

  // Removes the name, with errors of Disk::remove. Readers that hold the handle go on. Returns a handle for
  // reclaim(), or null when none could be had. May park.
  Result<std::shared_ptr<env::File>> remove(SegmentFile& file);

  // For a removal that is durable: the space is given back in small steps as soon as nobody holds the handle
  // any more. Not earlier, because the power could bring the name back, and with it half of the bytes.
  void reclaim(SegmentFile& file, std::shared_ptr<env::File> handle);

  // Counts sealed segments that hold their handle because they have bytes to sync. When they are too many,
  // the one who appends syncs some before it rolls.
  void pin() { ++pinned_; }
  void unpin() { --pinned_; }
  [[nodiscard]] bool pinned_too_many() const { return pinned_ >= open_max_; }

  [[nodiscard]] std::size_t open_unused() const { return unused_.size(); }

 private:
  Result<std::shared_ptr<env::File>> open(SegmentFile& file, env::OpenMode mode);

  env::Disk& disk_;
  std::size_t open_max_;
  std::size_t pinned_ = 0;
  std::uint64_t last_number_ = 0;
  Lru<std::shared_ptr<env::File>> unused_;
};

}  // namespace booblik::log
