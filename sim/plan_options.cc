// A plan as the options of each part of the world.
#include <algorithm>
#include <chrono>
#include <string>

#include "sim/plan.h"

namespace booblik::sim {
namespace {

Odds odds(std::int64_t value) {
  return static_cast<Odds>(value);
}

std::optional<std::chrono::milliseconds> limit_millis(std::int64_t value) {
  return value == 0 ? std::nullopt : std::optional(std::chrono::milliseconds(value));
}

std::optional<std::int64_t> limit(std::int64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

DiskOptions Plan::disk() const {
  DiskOptions disk;
  disk.guarantees = {.sector_bytes = sector_bytes,
                     .atomic_pages = atomic_pages != 0,
                     .ordered_names = ordered_names != 0,
                     .file_sync_keeps_name = file_sync_keeps_name != 0};
  disk.names_park = names_park != 0;
  disk.split_write_odds = odds(split_write_odds);
  disk.slow_spell_odds = odds(slow_spell_odds);
  disk.hang_odds = odds(hang_odds);
  disk.hang = std::chrono::milliseconds(hang_millis);
  for (Latency* latency : {&disk.read, &disk.write, &disk.sync, &disk.names}) {
    latency->tail_odds = odds(disk_tail_odds);
  }
  disk.read_error_odds = odds(read_error_odds);
  disk.write_error_odds = odds(write_error_odds);
  disk.sync_error_odds = odds(sync_error_odds);
  disk.directory_sync_error_odds = odds(directory_sync_error_odds);
  disk.name_error_odds = odds(name_error_odds);
  disk.no_space_odds = odds(no_space_odds);
  disk.clean_up_error_odds = odds(clean_up_error_odds);
  disk.power_after_no_space_odds = odds(power_after_no_space_odds);
  disk.sync_error_after_cut_odds = odds(sync_error_after_cut_odds);
  disk.sync_error_beside_odds = odds(sync_error_beside_odds);
  disk.too_many_files_odds = odds(too_many_files_odds);
  if (handles_max != 0) {
    disk.handles_max = handles_max;
  }
  disk.rot_flip_odds = odds(rot_flip_odds);
  disk.rot_lost_write_odds = odds(rot_lost_write_odds);
  disk.rot_misdirected_odds = odds(rot_misdirected_odds);
  return disk;
}

NetworkOptions Plan::network() const {
  NetworkOptions network;
  network.short_send_odds = odds(short_send_odds);
  network.short_receive_odds = odds(short_receive_odds);
  network.one_byte_odds = odds(one_byte_odds);
  network.split_odds = odds(split_send_odds);
  network.stall_odds = odds(stall_odds);
  network.reset_odds = odds(reset_odds);
  network.refuse_odds = odds(refuse_odds);
  network.buffer_bytes = socket_bytes;
  network.latency_high = std::chrono::microseconds(network_micros_max);
  network.latency_low = std::min(network.latency_low, network.latency_high);
  network.backlog_max = backlog_max;
  network.reset_loses_received = reset_keeps_received == 0;
  return network;
}

SchedulerOptions Plan::scheduler() const {
  return {.policy = static_cast<Policy>(policy)};
}

ClockOptions Plan::clock() const {
  return {.drift_per_million = drift_per_million,
          .jump_every = wall_jump_millis == 0 ? Duration(0) : Duration(std::chrono::seconds(7)),
          .jump_milliseconds_max = wall_jump_millis};
}

broker::Options Plan::broker() const {
  broker::Options options;
  options.data_directory = "/data";
  options.topics.clear();
  for (std::int64_t topic = 0; topic < topics; ++topic) {
    options.topics["topic" + std::to_string(topic)] = static_cast<std::int32_t>(partitions);
  }
  options.segment_capacity_bytes = segment_bytes;
  options.index_interval_bytes = index_bytes;
  options.flush_every = limit_millis(flush_millis);
  options.flush_every_records = limit(flush_records);
  options.flush_every_bytes = flush_bytes;
  options.retention_bytes = limit(retention_bytes);
  options.retention_age = limit_millis(retention_millis);
  options.retention_check_every = std::chrono::milliseconds(1000);
  options.metrics_every = std::chrono::milliseconds(30'000);
  options.request_memory_bytes_max = request_memory_bytes;
  if (connections_max != 0) {
    options.connections_max = connections_max;
  }
  options.frame_timeout = std::chrono::milliseconds(frame_timeout_millis);
  options.send_timeout = std::chrono::milliseconds(send_timeout_millis);
  options.shutdown_timeout = std::chrono::milliseconds(shutdown_timeout_millis);
  options.pipelined_requests_max = pipelined_max;
  options.held_fetches_max = held_max;
  options.open_segment_files_max = open_files_max;
  options.index_cache_bytes_max = 64 * 1024;
  return options;
}

}  // namespace booblik::sim
