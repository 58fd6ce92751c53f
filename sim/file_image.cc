#include "sim/file_image.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace booblik::sim {
namespace {

std::int64_t length_of(const std::vector<std::byte>& bytes) {
  return static_cast<std::int64_t>(bytes.size());
}

}  // namespace

void FileImage::write(Bytes bytes, std::int64_t position) {
  if (bytes.empty()) {
    return;
  }
  cache_.write(bytes, position);
  operations_.push_back({false, position, {bytes.begin(), bytes.end()}, cache_.size()});
}

void FileImage::truncate(std::int64_t size) {
  cache_.resize(size);
  operations_.push_back({true, size, {}, size});
}

void FileImage::apply(const Operation& operation) {
  if (operation.is_truncate) {
    durable_.resize(operation.position);
  } else {
    durable_.write(operation.bytes, operation.position);
  }
}

void FileImage::persist(Mark mark) {
  while (first_ < mark && !operations_.empty()) {
    apply(operations_.front());
    operations_.pop_front();
    ++first_;
  }
}

void FileImage::drop(Mark mark, bool keep_size) {
  while (first_ < mark && !operations_.empty()) {
    const Operation& operation = operations_.front();
    if (operation.is_truncate) {
      durable_.resize(operation.position);
    } else {
      const std::int64_t last = operation.position + length_of(operation.bytes) - 1;
      for (std::int64_t page = operation.position / kPageBytes; page <= last / kPageBytes; ++page) {
        dropped_.insert(page);
      }
      if (keep_size) {
        durable_.resize(std::max(durable_.size(), operation.size_after));
      }
    }
    operations_.pop_front();
    ++first_;
  }
}

void FileImage::evict() {
  const std::vector<std::int64_t> dirty = dirty_pages();
  for (const std::int64_t page : dropped_) {
    // A page that was written again is dirty, and dirty pages stay in the cache.
    if (!std::ranges::binary_search(dirty, page) && page * kPageBytes < cache_.size()) {
      cache_.share_page(durable_, page);
    }
  }
  dropped_.clear();
}

void FileImage::settle() {
  cache_ = durable_;
  first_ += operations_.size();
  operations_.clear();
  dropped_.clear();
}

void FileImage::lose_power(env::Random& random, PowerLoss kind, const DeviceGuarantees& guarantees) {
  if (!operations_.empty()) {
    switch (kind) {
      case PowerLoss::keep_all:
        persist(mark());
        break;
      case PowerLoss::drop_all:
        break;
      case PowerLoss::prefix:
        lose_prefix(random, guarantees);
        break;
      case PowerLoss::pages:
        lose_units(random, kPageBytes);
        break;
      case PowerLoss::sectors:
        lose_units(random, guarantees.atomic_pages ? kPageBytes : guarantees.sector_bytes);
        break;
    }
  }
  settle();
}

void FileImage::lose_prefix(env::Random& random, const DeviceGuarantees& guarantees) {
  persist(first_ + random.below(operations_.size() + 1));
  if (operations_.empty() || operations_.front().is_truncate || random.one_in(2)) {
    return;
  }
  // The operation at the cut got there in part: some of its sectors, and the size before or after it.
  const Operation& torn = operations_.front();
  const std::int64_t before = durable_.size();
  const std::int64_t unit = guarantees.atomic_pages ? kPageBytes : guarantees.sector_bytes;
  const std::int64_t end = torn.position + length_of(torn.bytes);
  for (std::int64_t start = torn.position; start < end;) {
    const std::int64_t stop = std::min(end, (start / unit + 1) * unit);
    if (random.one_in(2)) {
      durable_.write(Bytes(torn.bytes)
                         .subspan(static_cast<std::size_t>(start - torn.position),
                                  static_cast<std::size_t>(stop - start)),
                     start);
    }
    start = stop;
  }
  durable_.resize(random.one_in(2) ? before : std::max(before, torn.size_after));
}

std::vector<std::int64_t> FileImage::touched_units(std::int64_t unit_bytes) const {
  std::vector<std::int64_t> units;
  for (const Operation& operation : operations_) {
    if (operation.is_truncate) {
      continue;
    }
    const std::int64_t last = operation.position + length_of(operation.bytes) - 1;
    for (std::int64_t unit = operation.position / unit_bytes; unit <= last / unit_bytes; ++unit) {
      units.push_back(unit);
    }
  }
  std::ranges::sort(units);
  units.erase(std::ranges::unique(units).begin(), units.end());
  return units;
}

std::vector<std::int64_t> FileImage::dirty_pages() const {
  return touched_units(kPageBytes);
}

// Truncations and the size go through the file system's journal, in order: those before `metadata_cut` are
// durable. The contents of each unit are some version that the cache held, apart from that.
struct FileImage::Cut {
  std::size_t metadata = 0;

  // The contents of one unit: what is on the disk, then the operations that touch it up to a drawn one.
  void replay(const FileImage& image, std::int64_t start, MutableBytes unit, std::size_t version) const {
    image.durable_.read_padded(unit, start);
    const std::int64_t end = start + static_cast<std::int64_t>(unit.size());
    for (std::size_t index = 0; index < image.operations_.size(); ++index) {
      const Operation& operation = image.operations_[index];
      if (operation.is_truncate) {
        const bool zeroed_here = operation.position > start && operation.position < end && index < version;
        if (operation.position < end && (index < metadata || zeroed_here)) {
          const auto from = static_cast<std::size_t>(std::max(operation.position, start) - start);
          std::memset(unit.data() + from, 0, unit.size() - from);
        }
        continue;
      }
      const std::int64_t low = std::max(start, operation.position);
      const std::int64_t high = std::min(end, operation.position + length_of(operation.bytes));
      if (index < version && low < high) {
        std::memcpy(unit.data() + (low - start), operation.bytes.data() + (low - operation.position),
                    static_cast<std::size_t>(high - low));
      }
    }
  }
};

void FileImage::lose_units(env::Random& random, std::int64_t unit_bytes) {
  // None and all are drawn more often than what is in between, of the journal and of each unit.
  const auto draw_count = [&random, all = operations_.size()]() -> std::size_t {
    const std::uint64_t draw = random.below(4);
    return draw == 0 ? 0 : draw == 1 ? all : static_cast<std::size_t>(random.below(all + 1));
  };
  const Cut cut{draw_count()};
  const std::vector<std::int64_t> units = touched_units(unit_bytes);
  std::vector<std::byte> contents(units.size() * static_cast<std::size_t>(unit_bytes));
  for (std::size_t index = 0; index < units.size(); ++index) {
    const auto unit = MutableBytes(contents).subspan(index * static_cast<std::size_t>(unit_bytes),
                                                     static_cast<std::size_t>(unit_bytes));
    cut.replay(*this, units[index] * unit_bytes, unit, draw_count());
  }
  std::int64_t size = durable_.size();
  for (std::size_t index = 0; index < cut.metadata; ++index) {
    size = operations_[index].size_after;
    if (operations_[index].is_truncate) {
      durable_.resize(size);
    }
  }
  for (std::size_t index = 0; index < units.size(); ++index) {
    durable_.write(Bytes(contents).subspan(index * static_cast<std::size_t>(unit_bytes),
                                           static_cast<std::size_t>(unit_bytes)),
                   units[index] * unit_bytes);
  }
  durable_.resize(size);
}

bool FileImage::rot_flip(env::Random& random) {
  const std::int64_t size = std::min(durable_.size(), cache_.size());
  if (size == 0) {
    return false;
  }
  const auto position = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size)));
  const auto bit = static_cast<unsigned>(random.below(8));
  durable_.flip_bit(position, bit);
  cache_.flip_bit(position, bit);
  return true;
}

bool FileImage::rot_lose_write(env::Random& random) {
  const std::vector<std::int64_t> dirty = dirty_pages();
  if (dirty.empty()) {
    return false;
  }
  const std::int64_t page = dirty[random.below(dirty.size())];
  const PagedBytes before = durable_;
  persist(mark());
  durable_.share_page(before, page);
  cache_.share_page(before, page);
  return true;
}

bool FileImage::rot_misdirect(env::Random& random) {
  const std::vector<std::int64_t> dirty = dirty_pages();
  const std::int64_t pages = (cache_.size() + kPageBytes - 1) / kPageBytes;
  if (dirty.empty() || pages < 2) {
    return false;
  }
  const std::int64_t page = dirty[random.below(dirty.size())];
  const auto to = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(pages)));
  if (to == page) {
    return false;
  }
  const PagedBytes before = durable_;
  persist(mark());
  PagedBytes::Page bytes;
  durable_.read_padded(bytes, page * kPageBytes);
  const std::int64_t size = durable_.size();
  durable_.share_page(before, page);
  durable_.write(bytes, to * kPageBytes);
  durable_.resize(size);
  cache_ = durable_;
  return true;
}

}  // namespace booblik::sim
