#include "sim/disk_device.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace booblik::sim {
namespace {

const Latency& latency_of(const DiskOptions& options, DiskOperation operation) {
  switch (operation) {
    case DiskOperation::read:
      return options.read;
    case DiskOperation::write:
    case DiskOperation::truncate:
      return options.write;
    case DiskOperation::sync:
    case DiskOperation::sync_directory:
      return options.sync;
    default:
      return options.names;
  }
}

// The fault that `verdict` brings to an operation, by its probe; null when there is none.
const char* fault_probe(DiskOperation operation, const DiskDevice::Verdict& verdict) {
  if (verdict.too_many_files) {
    return "sim.disk.too_many_files";
  }
  if (verdict.no_space) {
    return operation == DiskOperation::open ? "sim.disk.no_space_for_name" : "sim.disk.no_space";
  }
  if (!verdict.error) {
    return nullptr;
  }
  switch (operation) {
    case DiskOperation::read:
      return "sim.disk.read_error";
    case DiskOperation::write:
      return "sim.disk.write_error";
    case DiskOperation::truncate:
      return "sim.disk.truncate_error";
    case DiskOperation::sync:
      return "sim.disk.sync_error";
    case DiskOperation::sync_directory:
      return "sim.disk.directory_sync_error";
    default:
      return "sim.disk.name_error";
  }
}

const char* power_loss_probe(PowerLoss kind) {
  switch (kind) {
    case PowerLoss::keep_all:
      return "sim.disk.power_kept_all";
    case PowerLoss::drop_all:
      return "sim.disk.power_dropped_all";
    case PowerLoss::prefix:
      return "sim.disk.power_kept_prefix";
    case PowerLoss::pages:
      return "sim.disk.power_kept_pages";
    case PowerLoss::sectors:
      return "sim.disk.power_kept_sectors";
  }
  return "?";
}

}  // namespace

const char* to_text(DiskOperation operation) {
  switch (operation) {
    case DiskOperation::open:
      return "open";
    case DiskOperation::create_directory:
      return "create directory";
    case DiskOperation::list:
      return "list";
    case DiskOperation::rename:
      return "rename";
    case DiskOperation::remove:
      return "remove";
    case DiskOperation::sync_directory:
      return "sync directory";
    case DiskOperation::lock:
      return "lock";
    case DiskOperation::read:
      return "read";
    case DiskOperation::write:
      return "write";
    case DiskOperation::truncate:
      return "truncate";
    case DiskOperation::sync:
      return "sync";
  }
  return "?";
}

DiskDevice::DiskDevice(DiskOptions options, std::uint64_t seed, SimScheduler& scheduler, ProbeCounts& probes)
    : options_(std::move(options)),
      scheduler_(scheduler),
      probes_(probes),
      files_(options_.capacity_bytes, options_.guarantees),
      latency_(random_stream(seed, "disk latency")),
      faults_(random_stream(seed, "disk faults")),
      partial_(random_stream(seed, "disk partial effects")),
      power_(random_stream(seed, "disk power loss")),
      rot_(random_stream(seed, "disk rot")),
      troubles_(random_stream(seed, "disk troubles")),
      beside_(random_stream(seed, "disk syncs side by side")),
      after_cut_(random_stream(seed, "disk syncs after a cut")),
      power_after_(random_stream(seed, "disk power after no space")) {}

void DiskDevice::set_faults(const DiskOptions& options) {
  const DiskOptions before = options_;
  options_ = options;
  options_.guarantees = before.guarantees;
  options_.capacity_bytes = before.capacity_bytes;
  power_goes_in_ = 0;
}

Duration DiskDevice::draw_duration(DiskOperation operation) {
  const Latency& latency = latency_of(options_, operation);
  Duration duration(between(latency_, latency.low.count(), latency.high.count()));
  if (happens(latency_, latency.tail_odds)) {
    duration *= latency.tail_factor;
  }
  if (strikes(latency_, options_.slow_spell_odds, "sim.disk.slow_spell")) {
    slow_until_ = scheduler_.now() + options_.slow_spell;
  }
  if (scheduler_.now() < slow_until_) {
    duration *= options_.slow_factor;
  }
  if (strikes(latency_, options_.hang_odds, "sim.disk.hang")) {
    duration += options_.hang;
  }
  return duration;
}

void DiskDevice::draw_faults(DiskOperation operation, Verdict& verdict) {
  switch (operation) {
    case DiskOperation::open:
      verdict.too_many_files = happens(faults_, options_.too_many_files_odds);
      verdict.no_space = happens(faults_, options_.no_space_odds);
      break;
    case DiskOperation::read:
      verdict.error = happens(faults_, options_.read_error_odds);
      break;
    case DiskOperation::write:
      verdict.error = happens(faults_, options_.write_error_odds);
      verdict.no_space = happens(faults_, options_.no_space_odds);
      break;
    case DiskOperation::truncate:
      verdict.error = happens(faults_, options_.write_error_odds);
      break;
    case DiskOperation::sync:
      verdict.error = happens(faults_, options_.sync_error_odds) || std::exchange(fail_next_sync_, false);
      break;
    case DiskOperation::sync_directory:
      verdict.error = happens(faults_, options_.directory_sync_error_odds);
      break;
    default:
      verdict.error = happens(faults_, options_.name_error_odds);
      break;
  }
}

// Troubles come together.
void DiskDevice::draw_trouble(DiskOperation operation, Verdict& verdict) {
  const bool cleans_up = operation == DiskOperation::truncate || operation == DiskOperation::remove ||
                         operation == DiskOperation::sync || operation == DiskOperation::sync_directory;
  if (found_no_room_ && cleans_up) {
    found_no_room_ = false;
    if (strikes(troubles_, options_.clean_up_error_odds, "sim.disk.clean_up_error")) {
      verdict.error = true;
    }
  }
  found_no_room_ = found_no_room_ || verdict.no_space || verdict.too_many_files;
}

// So soon that what was taken back for want of room was not made durable by what came after it.
void DiskDevice::draw_power_loss(DiskOperation operation, Verdict& verdict) {
  constexpr std::int64_t kOperationsMax = 32;
  if (power_goes_in_ > 0 && --power_goes_in_ == 0) {
    probes_.hit("sim.disk.power_after_no_space");
    verdict.power_loss = Crash::before;
  }
  if (operation == DiskOperation::write && verdict.no_space &&
      happens(power_after_, options_.power_after_no_space_odds)) {
    power_goes_in_ = between(power_after_, 1, kOperationsMax);
  }
}

void DiskDevice::apply_script(DiskOperation operation, Verdict& verdict) {
  using Kind = ScriptedFault::Kind;
  for (const ScriptedFault& fault : options_.script) {
    if (fault.operation != operations_) {
      continue;
    }
    switch (fault.kind) {
      case Kind::error:
        verdict.error = true;
        verdict.sync_failure = fault.sync_failure;
        break;
      case Kind::no_space:
        verdict.no_space = operation == DiskOperation::write || operation == DiskOperation::open;
        break;
      case Kind::too_many_files:
        verdict.too_many_files = operation == DiskOperation::open;
        break;
      case Kind::hang:
        verdict.duration += options_.hang;
        verdict.parks = true;
        break;
      case Kind::power_loss_before:
        verdict.power_loss = Crash::before;
        break;
      case Kind::power_loss_within:
        verdict.power_loss = Crash::within;
        break;
      case Kind::power_loss_after:
        verdict.power_loss = Crash::after;
        break;
      case Kind::kill_before:
        verdict.kill = Crash::before;
        break;
      case Kind::kill_within:
        verdict.kill = Crash::within;
        break;
      case Kind::kill_after:
        verdict.kill = Crash::after;
        break;
    }
  }
}

DiskDevice::Verdict DiskDevice::begin(DiskOperation operation) {
  ++operations_;
  if (record_ != nullptr) {
    record_->push_back(operation);
  }
  Verdict verdict;
  verdict.duration = draw_duration(operation);
  switch (operation) {
    case DiskOperation::read:
      verdict.parks = !happens(latency_, options_.cached_read_odds);
      break;
    case DiskOperation::write:
    case DiskOperation::truncate:
      verdict.split = happens(faults_, options_.split_write_odds);
      verdict.parks = verdict.split || !happens(latency_, options_.unparked_write_odds);
      break;
    case DiskOperation::open:
    case DiskOperation::sync:
      break;
    default:
      verdict.parks = options_.names_park;
      break;
  }
  verdict.sync_failure = options_.sync_failure ? *options_.sync_failure
                                               : static_cast<SyncFailure>(partial_.below(kSyncFailureKinds));
  draw_faults(operation, verdict);
  apply_script(operation, verdict);
  draw_trouble(operation, verdict);
  draw_power_loss(operation, verdict);
  if (const char* probe = fault_probe(operation, verdict)) {
    probes_.hit(probe);
  }
  if (verdict.split) {
    probes_.hit("sim.disk.split_write");
  }
  return verdict;
}

bool DiskDevice::strikes(env::Random& random, Odds odds, const char* probe) {
  const bool it_does = happens(random, odds);
  if (it_does) {
    probes_.hit(probe);
  }
  return it_does;
}

bool DiskDevice::fails_after_cut() {
  return strikes(after_cut_, options_.sync_error_after_cut_odds, "sim.disk.sync_error_after_cut");
}

bool DiskDevice::fails_beside() {
  return strikes(beside_, options_.sync_error_beside_odds, "sim.disk.sync_error_beside");
}

void DiskDevice::note_rot(const std::string& path, Rot what, const char* probe) {
  probes_.hit(probe);
  Rot& known = rotted_[path];
  known = std::max(known, what);
}

void DiskDevice::lose_file(const std::string& path, env::Random& random) {
  const auto number = files_.open(path, env::OpenMode::read_write);
  const std::int64_t size = number ? files_.inode(*number).file.cache().size() : 0;
  if (size == 0 || random.one_in(2)) {
    probes_.hit("sim.disk.lost_file");
    std::ignore = files_.remove(path);
  } else {
    probes_.hit("sim.disk.lost_tail");
    files_.truncate(*number, between(random, 0, size - 1));
  }
}

void DiskDevice::copy_file(const std::string& path, const std::string& copy_path) {
  const auto number = files_.open(path, env::OpenMode::read_only);
  const auto copy = number ? files_.open(copy_path, env::OpenMode::create_new) : number;
  if (!copy) {
    return;
  }
  probes_.hit("sim.disk.stray_file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(files_.inode(*number).file.cache().size()));
  files_.inode(*number).file.cache().read_padded(bytes, 0);
  files_.write(*copy, bytes, 0);
}

void DiskDevice::rot(InodeNumber number, const std::string& path) {
  FileImage& file = files_.inode(number).file;
  if (happens(rot_, options_.rot_lost_write_odds) && file.rot_lose_write(rot_)) {
    note_rot(path, Rot::misplaced, "sim.disk.rot_lost_write");
  }
  if (happens(rot_, options_.rot_misdirected_odds) && file.rot_misdirect(rot_)) {
    note_rot(path, Rot::misplaced, "sim.disk.rot_misdirected");
  }
  files_.recharge(number);
  if (!happens(rot_, options_.rot_flip_odds)) {
    return;
  }
  // Bits flip anywhere, not only in what is written just now.
  const auto drawn = rot_.one_in(4) ? files_.draw_file(rot_) : std::nullopt;
  const auto [other_path, other] = drawn.value_or(std::pair(path, number));
  if (files_.inode(other).file.rot_flip(rot_)) {
    note_rot(other_path, Rot::flipped, drawn ? "sim.disk.rot_flip_elsewhere" : "sim.disk.rot_flip");
  }
  files_.recharge(other);
}

std::optional<Instant> DiskDevice::created_at(const std::string& path) const {
  const auto found = created_.find(path);
  return found == created_.end() ? std::nullopt : std::optional(found->second);
}

void DiskDevice::note_error(DiskOperation operation, std::string_view path) {
  const bool changes = operation != DiskOperation::read && operation != DiskOperation::list;
  if (operation == DiskOperation::sync_directory) {
    last_errors_.insert_or_assign(std::string(path), scheduler_.now());
  } else if (changes && path.ends_with(".log")) {
    last_errors_.insert_or_assign(std::string(path.substr(0, path.rfind('/'))), scheduler_.now());
  }
}

std::optional<Instant> DiskDevice::last_error_in(std::string_view directory) const {
  const auto found = last_errors_.find(directory);
  return found == last_errors_.end() ? std::nullopt : std::optional(found->second);
}

void DiskDevice::lose_power() {
  probes_.hit("sim.disk.power_loss");
  for (const PowerLoss kind : files_.lose_power(power_, options_.power_loss)) {
    probes_.hit(power_loss_probe(kind));
  }
}

}  // namespace booblik::sim
