#include "sim/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "sim/model.h"
#include "wire/protocol.h"

namespace booblik::sim {
namespace {

constexpr std::array<std::pair<Mode, const char*>, 5> kModes{{{Mode::any, "any"},
                                                              {Mode::crash, "crash"},
                                                              {Mode::network, "network"},
                                                              {Mode::calm, "calm"},
                                                              {Mode::rot, "rot"}}};

// Log-uniform in [2^low, 2^(high + 1)).
std::int64_t log_uniform(env::Random& random, int low, int high) {
  const auto power = between(random, low, high);
  const std::int64_t base = std::int64_t{1} << power;
  return base + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(base)));
}

// A fault class is off in about half of the seeds.
std::int64_t maybe(env::Random& random, bool allowed, int low, int high) {
  const bool on = random.one_in(2);
  const std::int64_t odds = log_uniform(random, low, high);
  return allowed && on ? odds : 0;
}

void draw_scenario(Plan& plan, env::Random random) {
  plan.topics = between(random, 1, 2);
  plan.partitions = between(random, 1, 3);
  plan.producers = between(random, 1, 4);
  plan.consumers = between(random, 1, 3);
  plan.pollers = between(random, 0, 1);
  plan.load_millis = log_uniform(random, 14, 16);
  plan.think_millis = log_uniform(random, 7, 10);
  plan.depth_max = log_uniform(random, 0, 4);
  plan.batch_max = log_uniform(random, 0, 4);
  plan.payload_max = log_uniform(random, 4, 9);
  plan.wait_max_millis = log_uniform(random, 4, 13);
  plan.misbehaviour_odds = maybe(random, true, 2, 6);
}

void draw_library(Plan& plan, env::Random random) {
  plan.library_producers = between(random, 0, 2);
  plan.library_consumers = between(random, 0, 2);
}

void draw_records(Plan& plan, env::Random random) {
  plan.same_size = random.one_in(3) ? 1 : 0;
  plan.never_forced = random.one_in(6) ? 1 : 0;
  plan.same_size += plan.same_size != 0 && random.one_in(2) ? 1 : 0;
}

void draw_lives(Plan& plan, env::Random random, bool crashes) {
  plan.life_millis = maybe(random, true, 10, 15);
  plan.stop_weight = between(random, 0, 2);
  plan.kill_weight = crashes ? between(random, 0, 3) : 0;
  plan.power_weight = crashes ? between(random, 0, 3) : 0;
  if (plan.stop_weight + plan.kill_weight + plan.power_weight == 0) {
    plan.stop_weight = 1;
  }
  plan.crash_recovery_odds = maybe(random, crashes, 1, 4);
  plan.reconfigure_odds = maybe(random, true, 0, 2);
  plan.full_disk_odds = maybe(random, crashes, 0, 3);
}

void draw_troubles(Plan& plan, env::Random random, bool faulty) {
  plan.brief_life_odds = maybe(random, true, 1, 3);
  plan.clean_up_error_odds = maybe(random, faulty, 0, 2);
  plan.sync_error_beside_odds = maybe(random, faulty, 0, 2);
  plan.power_after_no_space_odds = maybe(random, faulty, 0, 2);
  if (plan.power_after_no_space_odds != 0) {
    plan.no_space_odds = log_uniform(random, 3, 7);
    // A group that was taken back is soon followed by one for which its segment has no room: that segment
    // never sees a barrier again.
    if (random.one_in(2)) {
      plan.segment_bytes = log_uniform(random, 11, 11);
      plan.payload_max = log_uniform(random, 8, 8);
      plan.same_size = 0;
      plan.reconfigure_odds = 0;
      plan.no_space_odds = log_uniform(random, 5, 6);
      plan.power_after_no_space_odds = 1;
    }
  }
}

void draw_configuration(Plan& plan, env::Random random) {
  reconfigure(plan, random);
  plan.flush_millis = maybe(random, true, 4, 12);
  plan.flush_records = maybe(random, true, 0, 8);
  plan.flush_bytes = log_uniform(random, 12, 18);
  plan.pipelined_max = log_uniform(random, 0, 6);
  plan.held_max = log_uniform(random, 0, 6);
  plan.open_files_max = log_uniform(random, 0, 4);
}

void draw_disk(Plan& plan, env::Random random, bool faulty) {
  plan.sector_bytes = random.one_in(2) ? 512 : 4096;
  plan.atomic_pages = random.one_in(2) ? 1 : 0;
  plan.ordered_names = random.one_in(2) ? 1 : 0;
  plan.file_sync_keeps_name = random.one_in(2) ? 1 : 0;
  plan.names_park = random.one_in(2) ? 1 : 0;
  plan.split_write_odds = maybe(random, faulty, 1, 6);
  plan.slow_spell_odds = maybe(random, faulty, 6, 12);
  plan.hang_odds = maybe(random, faulty, 8, 14);
  plan.read_error_odds = maybe(random, faulty, 5, 12);
  plan.write_error_odds = maybe(random, faulty, 6, 12);
  plan.sync_error_odds = maybe(random, faulty, 5, 11);
  plan.directory_sync_error_odds = maybe(random, faulty, 5, 10);
  plan.name_error_odds = maybe(random, faulty, 5, 10);
  plan.no_space_odds = maybe(random, faulty, 5, 11);
  plan.too_many_files_odds = maybe(random, faulty, 4, 9);
  plan.disk_tail_odds = maybe(random, true, 1, 8);
}

void draw_network(Plan& plan, env::Random random, bool cuts, bool faulty) {
  plan.short_send_odds = maybe(random, cuts, 1, 6);
  plan.short_receive_odds = maybe(random, cuts, 1, 6);
  plan.one_byte_odds = maybe(random, cuts, 1, 6);
  plan.split_send_odds = maybe(random, cuts, 1, 6);
  plan.stall_odds = maybe(random, faulty, 5, 10);
  plan.reset_odds = maybe(random, faulty, 5, 11);
  plan.refuse_odds = maybe(random, faulty, 2, 6);
  plan.socket_bytes = log_uniform(random, 8, 17);
  plan.network_micros_max = log_uniform(random, 5, 14);
  plan.backlog_max = log_uniform(random, 0, 6);
  plan.reset_keeps_received = random.one_in(2) ? 1 : 0;
}

// Limits that are met: of memory, of connections, of open files.
void draw_limits(Plan& plan, env::Random random, bool faulty) {
  plan.request_memory_bytes = log_uniform(random, 13, 20);
  plan.connections_max = maybe(random, faulty, 2, 3);
  plan.handles_max = maybe(random, faulty, 5, 6);
}

// What the broker has to cut, and how long it waits before it does.
void draw_offences(Plan& plan, env::Random random) {
  plan.offence_odds = maybe(random, true, 3, 7);
  const auto timeout = [&random](std::int64_t usual, int low, int high) {
    const std::int64_t drawn = maybe(random, true, low, high);
    return drawn == 0 ? usual : drawn;
  };
  plan.frame_timeout_millis = timeout(plan.frame_timeout_millis, 11, 14);
  plan.send_timeout_millis = timeout(plan.send_timeout_millis, 11, 14);
  plan.shutdown_timeout_millis = timeout(plan.shutdown_timeout_millis, 11, 13);
}

// Spells in which something is missing, or takes for ever.
void draw_spells(Plan& plan, env::Random random, bool faulty) {
  plan.few_handles_odds = maybe(random, faulty, 0, 3);
  const std::int64_t hang = maybe(random, faulty, 9, 14);
  plan.hang_millis = hang == 0 ? plan.hang_millis : hang;
}

// Nobody waits for the disk, and the power goes again and again: what a life has not synced by itself is lost
// in part. Records fill sectors, so what the power leaves of one life may fit to what it leaves of another.
void draw_unsynced(Plan& plan, env::Random random, bool faulty) {
  if (!random.one_in(7)) {
    return;
  }
  plan.same_size = 2;
  plan.never_forced = 1;
  plan.flush_millis = 0;
  plan.flush_records = 0;
  plan.flush_bytes = std::int64_t{1} << 20;
  plan.segment_bytes = log_uniform(random, 14, 14);  // a roll brings a barrier
  plan.reconfigure_odds = 0;
  plan.think_millis = log_uniform(random, 6, 8);
  plan.payload_max = log_uniform(random, 4, 6);
  plan.life_millis = log_uniform(random, 10, 11);
  plan.brief_life_odds = 1;
  plan.power_weight = 1;
  plan.kill_weight = 0;
  plan.stop_weight = 0;
  plan.sector_bytes = 512;
  plan.atomic_pages = 0;
  plan.sync_error_after_cut_odds = maybe(random, faulty, 0, 0);
}

// At least one kind; a rotten device may lose its power, too.
void draw_rot(Plan& plan, env::Random random) {
  plan.rot_flip_odds = maybe(random, true, 1, 6);
  plan.rot_lost_write_odds = maybe(random, true, 2, 7);
  plan.rot_misdirected_odds = maybe(random, true, 2, 7);
  if (!plan.rots()) {
    plan.rot_flip_odds = log_uniform(random, 1, 6);
  }
}

// Rarely: what lies behind the place is not judged any more.
void draw_lost_files(Plan& plan, env::Random random) {
  plan.lost_file_odds = maybe(random, random.one_in(2), 0, 4);
}

}  // namespace

std::optional<Mode> mode_of(std::string_view name) {
  const auto* const found =
      std::ranges::find(kModes, name, [](const auto& mode) { return std::string_view(mode.second); });
  return found == kModes.end() ? std::nullopt : std::optional(found->first);
}

const char* to_text(Mode mode) {
  return std::ranges::find(kModes, mode, &std::pair<Mode, const char*>::first)->second;
}

Plan draw_plan(std::uint64_t seed, Mode mode) {
  env::Random which = random_stream(seed, "plan classes");
  const bool calm = mode == Mode::calm || (mode == Mode::any && which.one_in(10));
  const bool crashes = !calm && mode != Mode::network && (mode != Mode::rot || which.one_in(2));
  const bool disk = !calm && mode != Mode::network && mode != Mode::rot;
  const bool network = !calm && mode != Mode::rot && (mode == Mode::network || which.one_in(2));
  Plan plan;
  draw_scenario(plan, random_stream(seed, "plan scenario"));
  draw_library(plan, random_stream(seed, "plan library"));
  draw_records(plan, random_stream(seed, "plan records"));
  draw_lives(plan, random_stream(seed, "plan lives"), crashes);
  draw_configuration(plan, random_stream(seed, "plan configuration"));
  draw_disk(plan, random_stream(seed, "plan disk"), disk);
  draw_network(plan, random_stream(seed, "plan network"), !calm, network);
  draw_limits(plan, random_stream(seed, "plan limits"), disk);
  if (!calm) {
    draw_offences(plan, random_stream(seed, "plan offences"));
  }
  draw_spells(plan, random_stream(seed, "plan spells"), disk);
  draw_troubles(plan, random_stream(seed, "plan troubles"), disk);
  if (crashes) {
    draw_unsynced(plan, random_stream(seed, "plan unsynced"), disk);
  }
  env::Random rest = random_stream(seed, "plan rest");
  plan.policy = between(rest, 0, 3);
  plan.wall_jump_millis = maybe(rest, !calm, 4, 22);
  plan.drift_per_million = maybe(rest, !calm, 4, 16);
  if (mode == Mode::rot) {
    draw_rot(plan, random_stream(seed, "plan rot"));
    draw_lost_files(plan, random_stream(seed, "plan lost files"));
  }
  // After a failure of these the partition takes no records until somebody restarts the broker.
  const bool failures_stay = plan.sync_error_odds != 0 || plan.write_error_odds != 0 ||
                             plan.directory_sync_error_odds != 0 || plan.name_error_odds != 0 ||
                             plan.sync_error_beside_odds != 0 || plan.sync_error_after_cut_odds != 0 ||
                             (plan.clean_up_error_odds != 0 && plan.no_space_odds != 0);
  if (failures_stay && plan.life_millis == 0) {
    plan.life_millis = log_uniform(rest, 11, 14);
  }
  if (calm) {
    plan.misbehaviour_odds = 0;
  }
  return plan;
}

void reconfigure(Plan& plan, env::Random& random) {
  plan.segment_bytes = log_uniform(random, 10, 14);
  plan.index_bytes = log_uniform(random, 6, 10);
  plan.retention_bytes = maybe(random, true, 12, 16);
  plan.retention_millis = maybe(random, true, 11, 15);
}

std::int64_t Plan::payload_bytes_max() const {
  // The smallest segment that reconfigure draws holds 1 KiB.
  const auto most = std::clamp<std::int64_t>(payload_max, kPayloadBytesMin, 1024 - wire::kRecordHeaderBytes);
  // The mean of what would be drawn otherwise: a run has as many bytes, and takes as long.
  const std::int64_t mean = (kPayloadBytesMin + most) / 2;
  switch (same_size) {
    case 0:
      return most;
    case 1:
      return mean;
    default:
      return static_cast<std::int64_t>(
                 std::bit_ceil(static_cast<std::uint64_t>(mean + wire::kRecordHeaderBytes))) -
             wire::kRecordHeaderBytes;
  }
}

std::int64_t Plan::payload_bytes_min() const {
  return same_size != 0 ? payload_bytes_max() : kPayloadBytesMin;
}

std::vector<std::pair<const char*, std::int64_t*>> Plan::fields() {
  return {{"topics", &topics},
          {"partitions", &partitions},
          {"producers", &producers},
          {"consumers", &consumers},
          {"pollers", &pollers},
          {"library_producers", &library_producers},
          {"library_consumers", &library_consumers},
          {"load_millis", &load_millis},
          {"think_millis", &think_millis},
          {"depth_max", &depth_max},
          {"batch_max", &batch_max},
          {"payload_max", &payload_max},
          {"same_size", &same_size},
          {"never_forced", &never_forced},
          {"patience_millis", &patience_millis},
          {"wait_max_millis", &wait_max_millis},
          {"misbehaviour_odds", &misbehaviour_odds},
          {"offence_odds", &offence_odds},
          {"life_millis", &life_millis},
          {"brief_life_odds", &brief_life_odds},
          {"kill_weight", &kill_weight},
          {"power_weight", &power_weight},
          {"stop_weight", &stop_weight},
          {"crash_recovery_odds", &crash_recovery_odds},
          {"reconfigure_odds", &reconfigure_odds},
          {"full_disk_odds", &full_disk_odds},
          {"few_handles_odds", &few_handles_odds},
          {"lost_file_odds", &lost_file_odds},
          {"segment_bytes", &segment_bytes},
          {"index_bytes", &index_bytes},
          {"flush_millis", &flush_millis},
          {"flush_records", &flush_records},
          {"flush_bytes", &flush_bytes},
          {"retention_bytes", &retention_bytes},
          {"retention_millis", &retention_millis},
          {"pipelined_max", &pipelined_max},
          {"held_max", &held_max},
          {"open_files_max", &open_files_max},
          {"request_memory_bytes", &request_memory_bytes},
          {"connections_max", &connections_max},
          {"frame_timeout_millis", &frame_timeout_millis},
          {"send_timeout_millis", &send_timeout_millis},
          {"shutdown_timeout_millis", &shutdown_timeout_millis},
          {"policy", &policy},
          {"sector_bytes", &sector_bytes},
          {"atomic_pages", &atomic_pages},
          {"ordered_names", &ordered_names},
          {"file_sync_keeps_name", &file_sync_keeps_name},
          {"names_park", &names_park},
          {"split_write_odds", &split_write_odds},
          {"slow_spell_odds", &slow_spell_odds},
          {"hang_odds", &hang_odds},
          {"hang_millis", &hang_millis},
          {"disk_tail_odds", &disk_tail_odds},
          {"read_error_odds", &read_error_odds},
          {"write_error_odds", &write_error_odds},
          {"sync_error_odds", &sync_error_odds},
          {"directory_sync_error_odds", &directory_sync_error_odds},
          {"name_error_odds", &name_error_odds},
          {"no_space_odds", &no_space_odds},
          {"clean_up_error_odds", &clean_up_error_odds},
          {"power_after_no_space_odds", &power_after_no_space_odds},
          {"sync_error_after_cut_odds", &sync_error_after_cut_odds},
          {"sync_error_beside_odds", &sync_error_beside_odds},
          {"too_many_files_odds", &too_many_files_odds},
          {"handles_max", &handles_max},
          {"rot_flip_odds", &rot_flip_odds},
          {"rot_lost_write_odds", &rot_lost_write_odds},
          {"rot_misdirected_odds", &rot_misdirected_odds},
          {"short_send_odds", &short_send_odds},
          {"short_receive_odds", &short_receive_odds},
          {"one_byte_odds", &one_byte_odds},
          {"split_send_odds", &split_send_odds},
          {"stall_odds", &stall_odds},
          {"reset_odds", &reset_odds},
          {"refuse_odds", &refuse_odds},
          {"socket_bytes", &socket_bytes},
          {"network_micros_max", &network_micros_max},
          {"backlog_max", &backlog_max},
          {"reset_keeps_received", &reset_keeps_received},
          {"wall_jump_millis", &wall_jump_millis},
          {"drift_per_million", &drift_per_million},
          {"planted_fault", &planted_fault}};
}

std::string Plan::describe() const {
  constexpr std::size_t kLineWidth = 100;
  Plan copy = *this;
  std::string text;
  std::size_t line_begin = 0;
  for (const auto& [name, value] : copy.fields()) {
    const std::string item = fmt::format("{}={}", name, *value);
    if (text.size() - line_begin + item.size() > kLineWidth) {
      text += '\n';
      line_begin = text.size();
    } else if (!text.empty()) {
      text += ' ';
    }
    text += item;
  }
  return text;
}

}  // namespace booblik::sim
