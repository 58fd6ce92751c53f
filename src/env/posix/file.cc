#include "env/posix/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

// One preadv2 at a time until the buffer is full, the file ends (fewer bytes) or a call fails (its negated
// errno).
struct ReadOutcome {
  std::size_t bytes = 0;
  std::int64_t error = 0;
};

ReadOutcome read_fully(SystemCalls& system, int descriptor, MutableBytes buffer, Position position,
                       int flags) {
  ReadOutcome outcome;
  while (outcome.bytes < buffer.size()) {
    const MutableBytes rest = buffer.subspan(outcome.bytes);
    const iovec part{rest.data(), rest.size()};
    const std::int64_t at = position.value() + static_cast<std::int64_t>(outcome.bytes);
    const std::int64_t result =
        uninterrupted([&] { return system.preadv2(descriptor, &part, 1, at, flags); });
    if (result < 0) {
      outcome.error = result;
      return outcome;
    }
    if (result == 0) {
      return outcome;
    }
    outcome.bytes += static_cast<std::size_t>(result);
  }
  return outcome;
}

// Takes `written` bytes off the front of the parts [first, ...); returns the first that has something left.
std::size_t skip_written(std::span<iovec> parts, std::size_t first, std::size_t written) {
  while (first < parts.size() && written >= parts[first].iov_len) {
    written -= parts[first].iov_len;
    ++first;
  }
  if (first < parts.size()) {
    parts[first].iov_base = static_cast<std::byte*>(parts[first].iov_base) + written;
    parts[first].iov_len -= written;
  }
  return first;
}

}  // namespace

PosixFile::PosixFile(SystemCalls& system, WorkerPool& workers, std::string path, Descriptor descriptor,
                     DescriptorBudget::Claim claim)
    : system_(system),
      workers_(workers),
      path_(std::move(path)),
      descriptor_(std::move(descriptor)),
      claim_(std::move(claim)),
      page_bytes_(::sysconf(_SC_PAGESIZE)) {}

Result<std::size_t> PosixFile::read_at(MutableBytes buffer, Position position) {
  ReadOutcome hot;
  if (nowait_works_) {
    hot = read_fully(system_, descriptor_.get(), buffer, position, RWF_NOWAIT);
    if (hot.error == 0) {
      return hot.bytes;
    }
    nowait_works_ = hot.error != -EOPNOTSUPP && hot.error != -ENOSYS && hot.error != -EPERM;
  }
  if (!nowait_works_ && is_resident(position, static_cast<std::int64_t>(buffer.size()))) {
    hot = read_fully(system_, descriptor_.get(), buffer, position, 0);
    if (hot.error == 0) {
      return hot.bytes;
    }
  }
  const MutableBytes rest = buffer.subspan(hot.bytes);
  ReadOutcome cold;
  workers_.run(WorkerPool::Kind::foreground, [&] {
    cold = read_fully(system_, descriptor_.get(), rest, position + static_cast<std::int64_t>(hot.bytes), 0);
  });
  if (cold.error != 0) {
    return fail_system("read", path_, cold.error);
  }
  return hot.bytes + cold.bytes;
}

Result<std::int64_t> PosixFile::size() const {
  struct stat status{};
  const std::int64_t result = system_.fstat(descriptor_.get(), &status);
  if (result < 0) {
    return fail_system("look at", path_, result);
  }
  return status.st_size;
}

Result<void> PosixFile::do_write_at(std::span<const Bytes> parts, Position position) {
  std::int64_t at = position.value();
  std::array<iovec, 64> vector;
  for (std::size_t taken = 0; taken < parts.size();) {
    const std::size_t count = std::min(parts.size() - taken, vector.size());
    for (std::size_t index = 0; index < count; ++index) {
      const Bytes part = parts[taken + index];
      vector[index] = iovec{const_cast<std::byte*>(part.data()), part.size()};
    }
    taken += count;
    const std::span<iovec> filled(vector.data(), count);
    for (std::size_t first = skip_written(filled, 0, 0); first < count;) {
      const std::int64_t written = uninterrupted([&] {
        return system_.pwritev(descriptor_.get(), &filled[first], static_cast<int>(count - first), at);
      });
      if (written < 0) {
        return fail_system("write", path_, written);
      }
      if (written == 0) {
        return fail_system("write", path_, -EIO);  // no file does this; going on would never end
      }
      at += written;
      first = skip_written(filled, first, static_cast<std::size_t>(written));
    }
  }
  return {};
}

Result<void> PosixFile::do_sync_data() {
  std::int64_t result = 0;
  workers_.run(WorkerPool::Kind::barrier,
               [&] { result = uninterrupted([&] { return system_.fdatasync(descriptor_.get()); }); });
  if (result < 0) {
    return fail_system("sync", path_, result);
  }
  return {};
}

Result<void> PosixFile::do_truncate(std::int64_t size) {
  std::int64_t result = 0;
  // Cutting a preallocated tail frees many blocks.
  workers_.run(WorkerPool::Kind::foreground,
               [&] { result = uninterrupted([&] { return system_.ftruncate(descriptor_.get(), size); }); });
  if (result < 0) {
    return fail_system("truncate", path_, result);
  }
  return {};
}

std::pair<Descriptor, DescriptorBudget::Claim> PosixFile::take() && {
  return {std::move(descriptor_), std::move(claim_)};
}

Result<void> PosixFile::make_resident(Position position, std::int64_t length) {
  if (length <= 0 || is_resident(position, length)) {
    return {};
  }
  std::int64_t error = 0;
  workers_.run(WorkerPool::Kind::foreground, [&] {
    // Without this the kernel reads as far ahead as the administrator of its disk lets it.
    system_.fadvise(descriptor_.get(), 0, 0, POSIX_FADV_RANDOM);
    ask_for(position, kReadAhead);  // most of it has been, when the one before was waited for
    for (std::int64_t done = 0; done < length && error == 0; done += kReadPiece) {
      ask_for(position + done + kReadAhead, kReadPiece);
      error = wait_for(position + done, std::min(length - done, kReadPiece));
    }
  });
  if (error != 0) {
    return fail_system("read", path_, error);
  }
  return {};
}

void PosixFile::ask_for(Position position, std::int64_t length) {
  system_.fadvise(descriptor_.get(), position.value(), length, POSIX_FADV_WILLNEED);
}

// By reading. The copy stays in the worker.
std::int64_t PosixFile::wait_for(Position position, std::int64_t length) {
  alignas(64) std::array<std::byte, 64 * 1024> discarded;
  for (std::int64_t done = 0; done < length;) {
    const auto piece = static_cast<std::size_t>(std::min<std::int64_t>(length - done, discarded.size()));
    const ReadOutcome read =
        read_fully(system_, descriptor_.get(), MutableBytes(discarded).first(piece), position + done, 0);
    if (read.error != 0 || read.bytes < piece) {
      return read.error;
    }
    done += static_cast<std::int64_t>(read.bytes);
  }
  return 0;
}

bool PosixFile::is_resident(Position position, std::int64_t length) {
  if (!cachestat_works_) {
    return nowait_works_ && is_resident_by_reading(position, length);
  }
  const std::int64_t first_page = position.value() / page_bytes_;
  const std::int64_t last_page = (position.value() + length - 1) / page_bytes_;
  if (last_page > first_page || !nowait_works_) {
    CacheStatistics statistics;
    const std::int64_t result = system_.cachestat(descriptor_.get(), position.value(), length, &statistics);
    if (result < 0) {
      cachestat_works_ = false;
      return nowait_works_ && is_resident_by_reading(position, length);
    }
    if (std::cmp_less(statistics.cached, last_page - first_page + 1)) {
      return false;
    }
  }
  // A page that is being read counts as cached. Reads run forwards, so when the last page is there, all are.
  return !nowait_works_ || is_resident_by_reading(position + (length - 1), 1);
}

bool PosixFile::is_resident_by_reading(Position position, std::int64_t length) {
  std::array<std::byte, 8 * 1024> discarded;  // on the small stack of a fiber
  for (std::int64_t done = 0; done < length;) {
    const auto piece = static_cast<std::size_t>(std::min<std::int64_t>(length - done, discarded.size()));
    const ReadOutcome read = read_fully(system_, descriptor_.get(), MutableBytes(discarded).first(piece),
                                        position + done, RWF_NOWAIT);
    if (read.error != 0) {
      nowait_works_ = nowait_works_ && read.error != -EOPNOTSUPP && read.error != -ENOSYS;
      return false;
    }
    if (read.bytes < piece) {
      return true;  // the end of the file is known without the disk
    }
    done += static_cast<std::int64_t>(piece);
  }
  return true;
}

}  // namespace booblik::env
