// An open file of a simulated process.
#pragma once

#include <string>

#include "env/disk.h"
#include "sim/sim_disk.h"

namespace booblik::sim {

class SimFile final : public env::File {
 public:
  // `number` is referenced by `handle`, which the file closes at its end.
  SimFile(SimDisk& disk, HandleNumber handle, InodeNumber number, std::string path, bool writable)
      : disk_(disk), handle_(handle), number_(number), path_(std::move(path)), writable_(writable) {}
  ~SimFile() override;

  Result<std::size_t> read_at(MutableBytes buffer, Position position) override;
  [[nodiscard]] Result<std::int64_t> size() const override;

  // Brings bytes into memory before they are sent: a read of the disk. `io` too when the file ends before.
  [[nodiscard]] Result<void> warm(Position position, std::int64_t length);

  [[nodiscard]] FileSystem& files() const { return disk_.files(); }
  [[nodiscard]] InodeNumber inode_number() const { return number_; }
  // The handle is the caller's to close from now on.
  [[nodiscard]] HandleNumber release_handle() { return std::exchange(handle_, 0); }

 private:
  Result<void> do_write_at(std::span<const Bytes> parts, Position position) override;
  Result<void> do_sync_data() override;
  Result<void> do_truncate(std::int64_t size) override;

  [[nodiscard]] FileSystem::Inode& inode() const { return disk_.files().inode(number_); }
  // Writes [from, to) of the parts; how many bytes found space.
  [[nodiscard]] std::size_t write_range(std::span<const Bytes> parts, std::size_t from, std::size_t to,
                                        Position position);

  SimDisk& disk_;
  HandleNumber handle_;
  InodeNumber number_;
  std::string path_;
  bool writable_;
};

}  // namespace booblik::sim
