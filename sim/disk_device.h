// The disk of one machine: its file system, and for each operation how long it takes and what goes wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "env/random.h"
#include "sim/faults.h"
#include "sim/file_system.h"
#include "sim/probes.h"
#include "sim/scheduler.h"

namespace booblik::sim {

// What may be wrong with a file that rotted; each includes the ones before it.
enum class Rot {
  none,
  flipped,    // bits are wrong: a checksum tells
  misplaced,  // whole pages are from another place or time: records may be sound, and not where they should
              // be
};

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

  // Damages a file by chance, while the barrier of the one at `path` is done.
  void rot(InodeNumber number, const std::string& path);
  // What rot has ever done, by path.
  [[nodiscard]] const std::map<std::string, Rot>& rotted() const { return rotted_; }

  // Somebody removes the file, or cuts off its tail.
  void lose_file(const std::string& path, env::Random& random);
  // Somebody puts a copy of the file beside it; nothing when there is a file of that path.
  void copy_file(const std::string& path, const std::string& copy_path);

  void lose_power();

  [[nodiscard]] FileSystem& files() { return files_; }
  [[nodiscard]] const DiskOptions& options() const { return options_; }
  // From now on. Guarantees and capacity are the device's own and stay.
  void set_faults(const DiskOptions& options);
  // When a file of this path was made last; nullopt when none ever was.
  [[nodiscard]] std::optional<Instant> created_at(const std::string& path) const;
  void note_created(const std::string& path) { created_[path] = scheduler_.now(); }
  // Of a process, from now on.
  void set_handles_max(std::int64_t handles) { options_.handles_max = handles; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  // Adds the kind of every operation from now on; `operations` is borrowed.
  void record_into(std::vector<DiskOperation>* operations) { record_ = operations; }
  // The next sync of a file fails, whatever is drawn.
  void fail_next_sync() { fail_next_sync_ = true; }
  // For choices inside a faulty operation: where a write breaks off.
  [[nodiscard]] env::Random& partial() { return partial_; }
  // An operation on `path` has failed, and not for want of space or handles.
  void note_error(DiskOperation operation, std::string_view path);
  // When one failed last that may have spoiled what a log in `directory` writes: one that changes a segment
  // file, or makes names durable. nullopt when none ever did.
  [[nodiscard]] std::optional<Instant> last_error_in(std::string_view directory) const;
  // A write found no room by itself.
  void note_full() { found_no_room_ = true; }
  // Whether the pages that a failing sync drops are lost when it begins, and not when it returns: a sync
  // that overlaps it then succeeds without them.
  [[nodiscard]] bool drops_early() { return troubles_.one_in(2); }
  // Whether a sync fails that begins while another one is still working on its file. Both have the same dirty
  // pages before them, and only one is told what became of these.
  [[nodiscard]] bool fails_beside();
  // Asked for a sync that is the first after a truncation of its file.
  [[nodiscard]] bool fails_after_cut();

 private:
  // Whether a fault of these odds happens; then its probe is hit.
  [[nodiscard]] bool strikes(env::Random& random, Odds odds, const char* probe);
  [[nodiscard]] Duration draw_duration(DiskOperation operation);
  void note_rot(const std::string& path, Rot what, const char* probe);
  void draw_faults(DiskOperation operation, Verdict& verdict);
  void draw_trouble(DiskOperation operation, Verdict& verdict);
  void draw_power_loss(DiskOperation operation, Verdict& verdict);
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
  env::Random troubles_;
  env::Random beside_;
  env::Random after_cut_;
  env::Random power_after_;
  std::map<std::string, Rot> rotted_;
  std::map<std::string, Instant> created_;
  std::map<std::string, Instant, std::less<>> last_errors_;  // by directory
  Instant slow_until_;
  bool fail_next_sync_ = false;
  bool found_no_room_ = false;
  std::int64_t power_goes_in_ = 0;  // operations; 0: it stays
  std::vector<DiskOperation>* record_ = nullptr;
  std::uint64_t operations_ = 0;
};

}  // namespace booblik::sim
