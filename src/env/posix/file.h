// A file of the machine.
#pragma once

#include <cstdint>
#include <string>

#include "env/disk.h"
#include "env/posix/descriptor.h"
#include "env/posix/descriptor_budget.h"
#include "env/posix/system_calls.h"
#include "env/posix/worker_pool.h"

namespace booblik::env {

// Which thread does what: reads try the page cache on the reactor first (preadv2 with RWF_NOWAIT) and go to a
// worker only for what is not there; writes go into the page cache and stay on the reactor; barriers and
// truncates go to a worker.
class PosixFile final : public File {
 public:
  PosixFile(SystemCalls& system, WorkerPool& workers, std::string path, Descriptor descriptor,
            DescriptorBudget::Claim claim);

  [[nodiscard]] Result<std::size_t> read_at(MutableBytes buffer, Position position) override;
  [[nodiscard]] Result<std::int64_t> size() const override;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Brings [position, position + length) into the page cache unless it is there, so that sendfile will not
  // wait for the disk on the reactor. Parks when it is not. What lies behind the end of the file is no error.
  // The disk is asked for kReadAhead more than is there, piece by piece, and for no more: a barrier of
  // another file waits behind what has been asked for.
  [[nodiscard]] Result<void> make_resident(Position position, std::int64_t length);

  // Measured with plain programs on a virtual disk: beside the kernel's own readahead, 8 MiB there, barriers
  // have a p99 of 17-22 ms, beside 256 KiB under way 4 ms. More than that keeps the disk busy while the
  // reactor sends.
  static constexpr std::int64_t kReadAhead = 1024 * 1024;
  static constexpr std::int64_t kReadPiece = 256 * 1024;

  // For reclaim: what has to be closed, and its place in the budget.
  [[nodiscard]] std::pair<Descriptor, DescriptorBudget::Claim> take() &&;

 protected:
  [[nodiscard]] Result<void> do_write_at(std::span<const Bytes> parts, Position position) override;
  [[nodiscard]] Result<void> do_sync_data() override;
  [[nodiscard]] Result<void> do_truncate(std::int64_t size) override;

 private:
  void ask_for(Position position, std::int64_t length);
  // In a worker. Returns 0 or a negated errno.
  [[nodiscard]] std::int64_t wait_for(Position position, std::int64_t length);
  [[nodiscard]] bool is_resident(Position position, std::int64_t length);
  [[nodiscard]] bool is_resident_by_reading(Position position, std::int64_t length);

  SystemCalls& system_;
  WorkerPool& workers_;
  std::string path_;
  Descriptor descriptor_;
  DescriptorBudget::Claim claim_;
  std::int64_t page_bytes_;
  // What this file system, kernel or sandbox has refused once is not tried again.
  bool nowait_works_ = true;
  bool cachestat_works_ = true;
};

}  // namespace booblik::env
