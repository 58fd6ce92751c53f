// Everything that can go wrong, and how often: plain values, drawn from the seed elsewhere, so that a test
// can set each exactly. Odds are "once in so many times"; 0 switches a fault off. The defaults are a calm
// world.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "sim/random_stream.h"

namespace booblik::sim {

// What a device promises about power loss; the less, the harder.
struct DeviceGuarantees {
  std::int64_t sector_bytes = 512;    // written whole or not at all
  bool atomic_pages = false;          // so are whole 4 KiB pages
  bool ordered_names = false;         // directory changes reach the disk in the order in which they were made
  bool file_sync_keeps_name = false;  // sync_data also makes the name of a new file durable
};

// What of the un-synced operations is on the disk after the power came back.
enum class PowerLoss {
  keep_all,
  drop_all,
  prefix,   // an ordered prefix; the operation at the cut may be torn between sectors
  pages,    // each page has some version that it went through since the last barrier
  sectors,  // each sector has
};
inline constexpr std::uint64_t kPowerLossKinds = 5;

enum class SyncFailure {
  dropped,         // the dirty pages became clean: readable, but never written any more
  stays_dirty,     // a later write-back works
  durable_anyway,  // everything reached the disk, yet an error is returned
};
inline constexpr std::uint64_t kSyncFailureKinds = 3;

// For loops over the n-th operation of a short workload.
struct ScriptedFault {
  enum class Kind {
    error,              // EIO: a read, a write, a name; of a sync with `sync_failure`
    no_space,           // ENOSPC, of a write after a part of it
    too_many_files,     // EMFILE, of an open
    hang,               // the operation takes DiskOptions::hang
    power_loss_before,  // the power goes before it
    power_loss_within,  // after a part of it, if it is a write; otherwise before it returns
    power_loss_after,   // when it has been done, before the caller knows
    kill_before,        // the same three for a process that is killed
    kill_within,
    kill_after,
  };

  std::uint64_t operation = 0;  // the first one is 1; counted over the machine's whole life
  Kind kind = Kind::error;
  SyncFailure sync_failure = SyncFailure::dropped;
};

struct Latency {
  Duration low{20'000};
  Duration high{200'000};
  Odds tail_odds = 0;  // then it is `tail_factor` times longer
  std::int64_t tail_factor = 30;
};

struct DiskOptions {
  std::int64_t capacity_bytes = std::int64_t{1} << 40;
  std::int64_t handles_max = 1'000'000;  // per process, connections included
  DeviceGuarantees guarantees{};
  std::optional<PowerLoss> power_loss{};  // nullopt: drawn each time
  std::vector<ScriptedFault> script{};

  Latency read{Duration(2'000), Duration(20'000), 0, 30};
  Latency write{Duration(2'000), Duration(20'000), 0, 30};
  Latency sync{Duration(100'000), Duration(400'000), 0, 30};
  Latency names{Duration(5'000), Duration(50'000), 0, 30};
  Odds cached_read_odds = 2;     // a read that does not park
  Odds unparked_write_odds = 2;  // a write that does not park
  Odds split_write_odds = 0;     // a write that others can see half of
  bool names_park = true;        // create_directory, list, rename, remove, sync_directory park
  Odds slow_spell_odds = 0;      // per operation: the next `slow_spell` takes `slow_factor` times as long
  Duration slow_spell{1'000'000'000};
  std::int64_t slow_factor = 20;
  Odds hang_odds = 0;
  Duration hang{5'000'000'000};

  Odds read_error_odds = 0;
  Odds write_error_odds = 0;
  Odds sync_error_odds = 0;
  std::optional<SyncFailure> sync_failure{};  // nullopt: drawn each time
  Odds evict_odds = 2;  // after SyncFailure::dropped: the dropped pages leave the cache after a while
  Odds directory_sync_error_odds = 0;
  Odds name_error_odds = 0;  // create_directory, list, rename, remove
  // After an operation that found no room: the next truncate, remove or sync fails, which is what a program
  // does to take back what it has begun.
  Odds clean_up_error_odds = 0;
  Odds sync_error_after_cut_odds = 0;  // per first sync of a file after it was cut: it fails and stays dirty
  Odds sync_error_beside_odds = 0;     // per sync of a file that another sync is still working on
  Odds no_space_odds = 0;
  Odds power_after_no_space_odds = 0;  // per write without room: the power goes a few operations later
  Odds too_many_files_odds = 0;

  // Rot: silent damage, found later or never. Only for runs whose oracle expects it.
  Odds rot_flip_odds = 0;         // per sync: one bit of the file is flipped
  Odds rot_lost_write_odds = 0;   // per sync: one dirty page is not written, and no error is returned
  Odds rot_misdirected_odds = 0;  // per sync: one dirty page is written over another one of the file
};

struct NetworkOptions {
  Duration latency_low{20'000};
  Duration latency_high{200'000};
  std::int64_t buffer_bytes = 64 * 1024;  // what a stream holds, sent but not received
  std::int64_t backlog_max = 128;
  Odds short_send_odds = 0;     // a send takes a drawn part of what it could
  Odds short_receive_odds = 0;  // so does a receive
  Odds one_byte_odds = 0;       // a receive gives one byte
  Odds split_odds = 0;          // what is sent arrives in two pieces, apart in time
  Odds stall_odds = 0;          // per send: the direction delivers nothing for `stall`
  Duration stall{500'000'000};
  Odds reset_odds = 0;               // per send: both ends see a reset, bytes in flight are lost
  Odds refuse_odds = 0;              // a connect is refused
  bool reset_loses_received = true;  // a reset also drops what has arrived and was not received
  Odds power_loss_silent_odds = 2;   // peers of a machine without power hear nothing for `silence`
  Duration silence{10'000'000'000};
};

struct ClockOptions {
  std::int64_t wall_start_milliseconds = 1'700'000'000'000;
  std::int64_t drift_per_million = 0;
  // How often the wall clock jumps (0: never), and how far at most, either way.
  Duration jump_every{0};
  std::int64_t jump_milliseconds_max = 0;
};

}  // namespace booblik::sim
