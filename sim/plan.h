// Everything that is drawn for one run, as plain numbers with names, so that each can be printed and fixed
// (--set). Odds are "once in so many", 0 is never.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/options.h"
#include "sim/faults.h"
#include "sim/scheduler.h"

namespace booblik::sim {

enum class Mode { any, crash, network, calm, rot };

[[nodiscard]] std::optional<Mode> mode_of(std::string_view name);
[[nodiscard]] const char* to_text(Mode mode);

struct Plan {
  // Scenario.
  std::int64_t topics = 1;
  std::int64_t partitions = 1;
  std::int64_t producers = 2;
  std::int64_t consumers = 1;
  std::int64_t pollers = 0;
  std::int64_t library_producers = 0;  // these two use src/client
  std::int64_t library_consumers = 0;
  std::int64_t load_millis = 60'000;
  std::int64_t think_millis = 500;  // mean pause of a client between bursts
  std::int64_t depth_max = 4;       // requests of one burst
  std::int64_t batch_max = 4;       // records of one PRODUCE
  std::int64_t payload_max = 100;
  // 1: all payloads have one size, so that a record fits where another one was. 2: and the stored record is a
  // power of two, so that records begin where sectors and pages do, and the disk may keep some and lose
  // others.
  std::int64_t same_size = 0;
  std::int64_t never_forced = 0;  // 1: nobody asks for a barrier
  std::int64_t patience_millis = 30'000;
  std::int64_t wait_max_millis = 5'000;  // of held FETCHes
  std::int64_t misbehaviour_odds = 0;    // per burst: abort, half-close, a stalled reader
  // Per burst: what the broker has to cut. A frame of a length that cannot be, one that stops in its middle,
  // a reader that takes nothing for longer than the broker waits.
  std::int64_t offence_odds = 0;

  // Life of the broker. A life ends after a time below `life_millis`; how is drawn by these weights.
  std::int64_t life_millis = 0;      // 0: it lives to the end
  std::int64_t brief_life_odds = 0;  // per life: it is over within a second
  std::int64_t kill_weight = 1;
  std::int64_t power_weight = 1;
  std::int64_t stop_weight = 1;
  std::int64_t crash_recovery_odds = 0;  // a life ends while the broker starts
  std::int64_t reconfigure_odds = 0;     // per restart
  std::int64_t full_disk_odds = 0;       // per life: the disk gets full, and free again
  std::int64_t few_handles_odds = 0;     // per life: no open and no accept works, and then they do again
  std::int64_t lost_file_odds = 0;       // per restart: a segment file is gone, cut, or there twice

  // The broker's configuration.
  std::int64_t segment_bytes = 4096;
  std::int64_t index_bytes = 64;
  std::int64_t flush_millis = 1000;  // 0: none
  std::int64_t flush_records = 0;    // 0: none
  std::int64_t flush_bytes = 65'536;
  std::int64_t retention_bytes = 0;   // 0: keeps everything
  std::int64_t retention_millis = 0;  // 0: keeps everything
  std::int64_t pipelined_max = 16;
  std::int64_t held_max = 100;
  std::int64_t open_files_max = 4;
  std::int64_t request_memory_bytes = 1 << 20;
  std::int64_t connections_max = 0;  // 0: more than there are clients
  std::int64_t frame_timeout_millis = 30'000;
  std::int64_t send_timeout_millis = 30'000;
  std::int64_t shutdown_timeout_millis = 10'000;

  // The environment.
  std::int64_t policy = 2;
  std::int64_t sector_bytes = 512;
  std::int64_t atomic_pages = 0;
  std::int64_t ordered_names = 0;
  std::int64_t file_sync_keeps_name = 0;
  std::int64_t names_park = 1;
  std::int64_t split_write_odds = 0;
  std::int64_t slow_spell_odds = 0;
  std::int64_t hang_odds = 0;
  std::int64_t hang_millis = 5'000;
  std::int64_t disk_tail_odds = 0;  // an operation takes 30 times as long
  std::int64_t read_error_odds = 0;
  std::int64_t write_error_odds = 0;
  std::int64_t sync_error_odds = 0;
  std::int64_t directory_sync_error_odds = 0;
  std::int64_t name_error_odds = 0;
  std::int64_t no_space_odds = 0;
  std::int64_t clean_up_error_odds = 0;        // per operation that found no room: taking it back fails
  std::int64_t power_after_no_space_odds = 0;  // per write without room: the power goes soon
  std::int64_t sync_error_after_cut_odds = 0;  // per first sync of a file after it was cut
  std::int64_t sync_error_beside_odds = 0;     // per sync of a file that another one is still working on
  std::int64_t too_many_files_odds = 0;
  std::int64_t handles_max = 0;  // 0: no limit
  std::int64_t rot_flip_odds = 0;
  std::int64_t rot_lost_write_odds = 0;
  std::int64_t rot_misdirected_odds = 0;
  std::int64_t short_send_odds = 0;
  std::int64_t short_receive_odds = 0;
  std::int64_t one_byte_odds = 0;
  std::int64_t split_send_odds = 0;
  std::int64_t stall_odds = 0;
  std::int64_t reset_odds = 0;
  std::int64_t refuse_odds = 0;
  std::int64_t socket_bytes = 65'536;
  std::int64_t network_micros_max = 200;  // the latency of a piece
  std::int64_t backlog_max = 128;
  std::int64_t reset_keeps_received = 0;  // what had arrived in front of a reset can still be read
  std::int64_t wall_jump_millis = 0;
  std::int64_t drift_per_million = 0;

  // Breaks the harness itself, so that its alarms can be tested (planted_fault.h). Never drawn.
  std::int64_t planted_fault = 0;

  // Every number above with its name, in order.
  [[nodiscard]] std::vector<std::pair<const char*, std::int64_t*>> fields();
  // "name=value name=value ...", in lines.
  [[nodiscard]] std::string describe() const;
  // What is wrong with a value that somebody chose; empty when nothing is.
  [[nodiscard]] std::string problem() const;

  [[nodiscard]] DiskOptions disk() const;
  [[nodiscard]] NetworkOptions network() const;
  [[nodiscard]] SchedulerOptions scheduler() const;
  [[nodiscard]] ClockOptions clock() const;
  [[nodiscard]] broker::Options broker() const;
  [[nodiscard]] bool rots() const {
    return rot_flip_odds != 0 || rot_lost_write_odds != 0 || rot_misdirected_odds != 0 || lost_file_odds != 0;
  }
  // What the workload sends; the largest fits every segment of the run.
  [[nodiscard]] std::int64_t payload_bytes_max() const;
  [[nodiscard]] std::int64_t payload_bytes_min() const;
};

// The same (seed, mode) gives the same plan.
[[nodiscard]] Plan draw_plan(std::uint64_t seed, Mode mode);

// Draws what a restart may change: segment size, index interval, retention.
void reconfigure(Plan& plan, env::Random& random);

}  // namespace booblik::sim
