#include "sim/sim_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace booblik::sim {
namespace {

std::size_t total_bytes(std::span<const Bytes> parts) {
  std::size_t total = 0;
  for (const Bytes part : parts) {
    total += part.size();
  }
  return total;
}

// Names an operation in the fingerprint.
std::uint64_t subject_of(InodeNumber number, std::int64_t position, std::size_t length) {
  return (number << 40U) ^ (static_cast<std::uint64_t>(position) << 20U) ^ length;
}

std::unexpected<Error> io_error(DiskOperation operation, const std::string& path) {
  return fail(ErrorCode::io, fmt::format("{} {}: input/output error", to_text(operation), path));
}

std::unexpected<Error> not_writable(const std::string& path) {
  return fail(ErrorCode::io, fmt::format("write {}: opened for reading only", path));
}

}  // namespace

SimFile::~SimFile() {
  disk_.close(handle_);
}

Result<std::int64_t> SimFile::size() const {
  return inode().file.size();
}

Result<std::size_t> SimFile::read_at(MutableBytes buffer, Position position) {
  const auto verdict = disk_.begin(DiskOperation::read, subject_of(number_, position.value(), buffer.size()));
  disk_.pass_time(verdict, DiskOperation::read, path_);
  if (verdict.error) {
    disk_.end(verdict, DiskOperation::read, path_);
    return io_error(DiskOperation::read, path_);
  }
  const std::size_t got = inode().file.read(buffer, position.value());
  disk_.end(verdict, DiskOperation::read, path_);
  return got;
}

Result<void> SimFile::warm(Position position, std::int64_t length) {
  const auto verdict = disk_.begin(DiskOperation::read,
                                   subject_of(number_, position.value(), static_cast<std::size_t>(length)));
  disk_.pass_time(verdict, DiskOperation::read, path_);
  disk_.end(verdict, DiskOperation::read, path_);
  if (verdict.error) {
    return io_error(DiskOperation::read, path_);
  }
  if (position.value() + length > inode().file.size()) {
    return fail(ErrorCode::io, fmt::format("send {}: the file ends before", path_));
  }
  return {};
}

std::size_t SimFile::write_range(std::span<const Bytes> parts, std::size_t from, std::size_t to,
                                 Position position) {
  const HeapScope world(nullptr);
  std::size_t at = 0;
  std::size_t written = 0;
  for (const Bytes part : parts) {
    const std::size_t low = std::max(from, at);
    const std::size_t high = std::min(to, at + part.size());
    if (low < high) {
      const std::size_t went = disk_.files().write(number_, part.subspan(low - at, high - low),
                                                   position.value() + static_cast<std::int64_t>(low));
      disk_.core().fingerprint.mix_bytes(part.subspan(low - at, went));
      written += went;
      if (went < high - low) {
        disk_.core().probes.hit("sim.disk.full");
        disk_.device().note_full();
        return written;
      }
    }
    at += part.size();
  }
  return written;
}

Result<void> SimFile::do_write_at(std::span<const Bytes> parts, Position position) {
  if (!writable_) {
    return not_writable(path_);
  }
  const std::size_t length = total_bytes(parts);
  const auto verdict = disk_.begin(DiskOperation::write, subject_of(number_, position.value(), length));
  const bool breaks_off = verdict.error || verdict.no_space ||
                          verdict.power_loss == DiskDevice::Crash::within ||
                          verdict.kill == DiskDevice::Crash::within;
  const std::size_t goal =
      breaks_off ? static_cast<std::size_t>(disk_.device().partial().below(length + 1)) : length;
  const std::size_t first =
      verdict.split ? static_cast<std::size_t>(disk_.device().partial().below(goal + 1)) : 0;
  std::size_t written = write_range(parts, 0, first, position);
  disk_.pass_time(verdict, DiskOperation::write, path_);
  if (written == first) {
    written += write_range(parts, first, goal, position);
  }
  disk_.end(verdict, DiskOperation::write, path_);
  if (verdict.error) {
    return io_error(DiskOperation::write, path_);
  }
  if (verdict.no_space || written < length) {
    return fail(ErrorCode::no_space, fmt::format("write {}: no space left on the device", path_));
  }
  return {};
}

Result<void> SimFile::do_truncate(std::int64_t size) {
  if (!writable_) {
    return not_writable(path_);
  }
  const auto verdict = disk_.begin(DiskOperation::truncate, subject_of(number_, size, 0));
  disk_.pass_time(verdict, DiskOperation::truncate, path_);
  if (verdict.error) {
    disk_.end(verdict, DiskOperation::truncate, path_);
    return io_error(DiskOperation::truncate, path_);
  }
  {
    const HeapScope world(nullptr);
    disk_.files().truncate(number_, size);
    disk_.files().inode(number_).cut = true;
  }
  disk_.end(verdict, DiskOperation::truncate, path_);
  return {};
}

Result<void> SimFile::do_sync_data() {
  auto verdict = disk_.begin(DiskOperation::sync, subject_of(number_, 0, 0));
  if (std::exchange(inode().cut, false) && disk_.device().fails_after_cut()) {
    verdict.error = true;
    verdict.sync_failure = SyncFailure::stays_dirty;
  }
  const bool fails_beside = disk_.begin_sync(number_);
  if (fails_beside) {
    // The pages of both are lost by now, and the device tries long before it gives up and says so.
    verdict.error = true;
    verdict.sync_failure = SyncFailure::dropped;
    verdict.duration *= disk_.device().options().sync.tail_factor;
  }
  const FileImage::Mark mark = inode().file.mark();
  const auto drop = [&] {
    const HeapScope world(nullptr);
    disk_.core().probes.hit("sim.disk.sync_dropped");
    inode().file.drop(mark, disk_.device().partial().one_in(2));
  };
  const bool drops = verdict.error && verdict.sync_failure == SyncFailure::dropped;
  const bool drops_early = fails_beside || (drops && disk_.device().drops_early());
  if (drops_early) {
    drop();
  }
  disk_.pass_time(verdict, DiskOperation::sync, path_);
  disk_.end_sync(number_);
  disk_.crash_if(DiskDevice::Crash::within, verdict);
  {
    const HeapScope world(nullptr);
    DiskDevice& device = disk_.device();
    if (!verdict.error) {
      device.rot(number_, path_);
    }
    if (!verdict.error || verdict.sync_failure == SyncFailure::durable_anyway) {
      inode().file.persist(mark);
      disk_.files().persist_name_with_file(number_);
      if (verdict.error) {
        disk_.core().probes.hit("sim.disk.sync_error_though_durable");
      }
    } else if (drops) {
      if (!drops_early) {
        drop();
      }
      if (happens(device.partial(), device.options().evict_odds)) {
        disk_.evict_later(number_);
      }
    } else {
      disk_.core().probes.hit("sim.disk.sync_stays_dirty");
    }
  }
  disk_.end(verdict, DiskOperation::sync, path_);
  if (verdict.error) {
    return io_error(DiskOperation::sync, path_);
  }
  return {};
}

}  // namespace booblik::sim
