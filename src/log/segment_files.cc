#include "log/segment_files.h"

#include <algorithm>
#include <utility>

namespace booblik::log {
namespace {

// Ends a handle: an ordinary close, or, once the file is waste, a slow return of its space.
struct CloseOrReclaim {
  env::Disk& disk;
  std::shared_ptr<bool> is_waste;

  void operator()(env::File* file) const {
    std::unique_ptr<env::File> owned(file);
    if (*is_waste) {
      disk.reclaim(std::move(owned));
    }
  }
};

}  // namespace

SegmentFile::SegmentFile(std::uint64_t number, std::string path)
    : number_(number), path_(std::move(path)), is_waste_(std::make_shared<bool>(false)) {}

SegmentFiles::SegmentFiles(env::Disk& disk, std::size_t open_max)
    : disk_(disk),
      open_max_(std::max<std::size_t>(open_max, 1)),
      unused_(static_cast<std::int64_t>(open_max_)) {}

Result<std::shared_ptr<env::File>> SegmentFiles::open(SegmentFile& file, env::OpenMode mode) {
  auto opened = disk_.open(file.path(), mode);
  if (!opened && opened.error().code == ErrorCode::too_many_files && unused_.size() > 0) {
    unused_.clear();
    opened = disk_.open(file.path(), mode);
  }
  if (!opened) {
    return std::unexpected(std::move(opened.error()));
  }
  // Somebody else may have opened it meanwhile; ours is closed again then.
  if (auto handle = file.handle_.lock()) {
    return handle;
  }
  if (file.removed()) {
    return fail(ErrorCode::not_found, file.path() + " has been removed by retention");
  }
  std::shared_ptr<env::File> handle(opened->release(), CloseOrReclaim{disk_, file.is_waste_});
  file.handle_ = handle;
  return handle;
}

Result<std::shared_ptr<env::File>> SegmentFiles::get(SegmentFile& file) {
  if (const auto* unused = unused_.find(file.number())) {
    return *unused;
  }
  if (auto handle = file.handle_.lock()) {
    return handle;
  }
  // Writable, though it is only read: the handle may be the one that gives the space back.
  auto handle = open(file, env::OpenMode::read_write);
  if (handle && !file.removed()) {
    unused_.put(file.number(), *handle, 1);
  }
  return handle;
}

Result<std::shared_ptr<env::File>> SegmentFiles::create(SegmentFile& file) {
  return open(file, env::OpenMode::create_new);
}

Result<std::shared_ptr<env::File>> SegmentFiles::open_to_write(SegmentFile& file) {
  return open(file, env::OpenMode::read_write);
}

void SegmentFiles::keep(SegmentFile& file, std::shared_ptr<env::File> handle) {
  if (!file.removed()) {
    unused_.put(file.number(), std::move(handle), 1);
  }
}

Result<std::shared_ptr<env::File>> SegmentFiles::remove(SegmentFile& file) {
  auto handle = get(file);
  if (!handle && handle.error().code == ErrorCode::not_found) {
    return handle;
  }
  if (auto removed = disk_.remove(file.path()); !removed) {
    return std::unexpected(std::move(removed.error()));
  }
  file.removed_ = true;
  unused_.erase(file.number());
  return handle ? std::move(*handle) : nullptr;
}

void SegmentFiles::reclaim(SegmentFile& file, std::shared_ptr<env::File> handle) {
  *file.is_waste_ = true;
  handle.reset();
}

}  // namespace booblik::log
