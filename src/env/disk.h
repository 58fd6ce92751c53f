// Files and directories. What is durable, and after which call, is said at each one; nothing else may be
// assumed:
//   a write     is in the file for every reader of this machine, and survives the process, not the power;
//   sync_data   makes the bytes and the size of a file durable, not its name;
//   sync_directory makes the names in it (created, renamed, removed) durable, not what is in the files.
// Paths are relative to the working directory or absolute, with '/' between parts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace booblik::env {

// An open file; closing is destruction. After a failed sync_data what is on disk is unknown (the kernel may
// have dropped the dirty pages), so every later write, truncate or sync of this object fails with `poisoned`;
// reads go on. That rule is kept here, once, and not in the callers or the implementations.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  // Reads up to buffer.size() bytes and returns how many; fewer only at the end of the file. May park
  // (what is not in memory is read by a worker). The buffer is the caller's until it returns.
  [[nodiscard]] virtual Result<std::size_t> read_at(MutableBytes buffer, Position position) = 0;

  // Writes all parts, one behind the other. On an error any prefix may have been written. Does not wait for
  // the disk, but may park. The parts are the caller's and stay unchanged until it returns.
  [[nodiscard]] Result<void> write_at(std::span<const Bytes> parts, Position position);

  // A barrier: on success every write that returned before the call began is durable, and the size with it.
  // Parks. Writes during the call go on and are not covered.
  [[nodiscard]] Result<void> sync_data();

  // Cuts the file to `size` bytes, or extends it with zeros. Not durable before sync_data. May park.
  [[nodiscard]] Result<void> truncate(std::int64_t size);

  [[nodiscard]] virtual Result<std::int64_t> size() const = 0;

  [[nodiscard]] bool poisoned() const { return poisoned_; }

 protected:
  [[nodiscard]] virtual Result<void> do_write_at(std::span<const Bytes> parts, Position position) = 0;
  [[nodiscard]] virtual Result<void> do_sync_data() = 0;
  [[nodiscard]] virtual Result<void> do_truncate(std::int64_t size) = 0;

 private:
  bool poisoned_ = false;
};

enum class OpenMode {
  read_only,
  read_write,  // the file must exist
  create_new,  // read and write; the file must not exist
};

struct DirectoryEntry {
  std::string name;  // one path part
  bool is_directory = false;
  bool is_regular = false;
  std::int64_t size = 0;  // of a regular file

  auto operator<=>(const DirectoryEntry&) const = default;
};

// Held by at most one process at a time; destruction releases it, so does the end of the process.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class Disk {
 public:
  virtual ~Disk() = default;

  // Errors: not_found, already_exists, too_many_files, no_space, io. May park.
  [[nodiscard]] virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;

  // Makes one directory; that it is there already is a success.
  [[nodiscard]] virtual Result<void> create_directory(const std::string& path) = 0;

  // Without "." and "..", sorted by name as bytes.
  [[nodiscard]] virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0;

  // Replaces `to` if it is there; readers see the old or the new file, never none.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;

  // Removes the name. Open files stay readable. The space of a large file comes back through reclaim.
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;

  // Takes a file whose name has been removed and gives its space back in small steps in the background:
  // freeing a large file at once stalls other files' barriers by tens of milliseconds. Does not park.
  virtual void reclaim(std::unique_ptr<File> file) = 0;

  [[nodiscard]] virtual Result<void> sync_directory(const std::string& path) = 0;

  // Takes the exclusive lock of a directory through a file `lock` in it that holds the owner's process id in
  // decimal. Never waits: `locked` says which process has it.
  [[nodiscard]] virtual Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory) = 0;

  // Bytes that this process could still write in the file system of `path`.
  [[nodiscard]] virtual Result<std::int64_t> free_space(const std::string& path) = 0;
};

}  // namespace booblik::env
