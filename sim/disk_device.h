// The disk of one machine: its file system, and for each operation how long it takes and what goes wrong.
#pragma once

#include <cstdint>
#include <string_view>

#include "env/random.h"
#include "sim/faults.h"
#include "sim/file_system.h"
#include "sim/probes.h"
#include "sim/scheduler.h"

namespace booblik::sim {

enum class DiskOperation {
  open,
  create_directory,
  list,
  rename,
  remove,
  sync_directory,
  lock,
  read,
  write,
  truncate,
  sync,
};

[[nodiscard]] const char* to_text(DiskOperation operation);

class DiskDevice {
 public:
  // `probes` and `scheduler` are borrowed.
  DiskDevice(DiskOptions options, std::uint64_t seed, SimScheduler& scheduler, ProbeCounts& probes);

  // When the machine goes down by itself, relative to the operation.
  enum class Crash { none, before, within, after };

  struct Verdict {
    Duration duration{0};
    bool parks = true;
    bool error = false;
    bool no_space = false;
    bool too_many_files = false;
    bool split = false;  // of a write: the half of it can be seen
    SyncFailure sync_failure = SyncFailure::dropped;
    Crash power_loss = Crash::none;
    Crash kill = Crash::none;
  };

  // What happens to the next operation. Each call counts as one.
  [[nodiscard]] Verdict begin(DiskOperation operation);

  // Damages a file by chance, while one of its barriers is done.
  void rot(InodeNumber number);

  void lose_power();

  [[nodiscard]] FileSystem& files() { return files_; }
  [[nodiscard]] const DiskOptions& options() const { return options_; }
  // From now on. Guarantees and capacity are the device's own and stay.
  void set_faults(const DiskOptions& options);
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  // The next sync of a file fails, whatever is drawn.
  void fail_next_sync() { fail_next_sync_ = true; }
  // For choices inside a faulty operation: where a write breaks off.
  [[nodiscard]] env::Random& partial() { return partial_; }

 private:
  [[nodiscard]] Duration draw_duration(DiskOperation operation);
  void draw_faults(DiskOperation operation, Verdict& verdict);
  void apply_script(DiskOperation operation, Verdict& verdict);

  DiskOptions options_;
  SimScheduler& scheduler_;
  ProbeCounts& probes_;
  FileSystem files_;
  env::Random latency_;
  env::Random faults_;
  env::Random partial_;
  env::Random power_;
  env::Random rot_;
  Instant slow_until_;
  bool fail_next_sync_ = false;
  std::uint64_t operations_ = 0;
};

}  // namespace booblik::sim
