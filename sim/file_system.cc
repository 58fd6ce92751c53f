#include "sim/file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace booblik::sim {
namespace {

std::unexpected<Error> missing(std::string_view path) {
  return fail(ErrorCode::not_found, fmt::format("{}: no such file or directory", path));
}

// Takes the first part off a path; empty when there is none left.
std::string_view take_part(std::string_view& path) {
  while (path.starts_with('/')) {
    path.remove_prefix(1);
  }
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(part.size());
  return part;
}

}  // namespace

FileSystem::FileSystem(std::int64_t capacity_bytes, DeviceGuarantees guarantees)
    : capacity_bytes_(capacity_bytes), guarantees_(guarantees) {
  inodes_[kRoot].is_directory = true;
}

FileSystem::Inode& FileSystem::inode(InodeNumber number) {
  const auto found = inodes_.find(number);
  BOOBLIK_CHECK(found != inodes_.end(), "an inode that is used is referenced");
  return found->second;
}

Result<InodeNumber> FileSystem::walk(std::string_view path) const {
  InodeNumber number = kRoot;
  for (std::string_view rest = path;;) {
    const std::string_view part = take_part(rest);
    if (part.empty()) {
      return number;
    }
    if (part == ".") {
      continue;
    }
    const Inode& here = at(number);
    const auto found = here.is_directory ? here.directory.find(std::string(part)) : std::nullopt;
    if (!found) {
      return missing(path);
    }
    number = *found;
  }
}

Result<FileSystem::Place> FileSystem::place(const std::string& path) const {
  std::string_view whole = path;
  while (whole.ends_with('/')) {
    whole.remove_suffix(1);
  }
  const std::size_t slash = whole.rfind('/');
  const std::string_view parent =
      slash == std::string_view::npos ? std::string_view() : whole.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? whole : whole.substr(slash + 1);
  const auto directory = walk(parent);
  if (!directory) {
    return missing(path);
  }
  if (!at(*directory).is_directory || name.empty()) {
    return fail(ErrorCode::io, fmt::format("{}: not a directory", path));
  }
  return Place{*directory, std::string(name)};
}

InodeNumber FileSystem::create(Place place, bool is_directory) {
  if (inodes_.size() >= sweep_at_) {
    sweep();
  }
  const InodeNumber number = next_++;
  Inode& made = inodes_[number];
  made.is_directory = is_directory;
  made.parent = place.directory;
  made.names = 1;
  inode(place.directory).directory.link(place.name, number);
  return number;
}

Result<InodeNumber> FileSystem::open(const std::string& path, env::OpenMode mode) {
  auto where = place(path);
  if (!where) {
    return std::unexpected(std::move(where.error()));
  }
  const auto found = at(where->directory).directory.find(where->name);
  if (mode == env::OpenMode::create_new) {
    if (found) {
      return fail(ErrorCode::already_exists, fmt::format("{}: exists", path));
    }
    if (free_bytes() <= 0) {
      return fail(ErrorCode::no_space, fmt::format("{}: no space left on the device", path));
    }
    return create(std::move(*where), false);
  }
  if (!found) {
    return missing(path);
  }
  if (at(*found).is_directory) {
    return fail(ErrorCode::io, fmt::format("{}: is a directory", path));
  }
  return *found;
}

Result<void> FileSystem::create_directory(const std::string& path) {
  auto where = place(path);
  if (!where) {
    return std::unexpected(std::move(where.error()));
  }
  const auto found = at(where->directory).directory.find(where->name);
  if (found) {
    if (!at(*found).is_directory) {
      return fail(ErrorCode::io, fmt::format("{}: is a file", path));
    }
    return {};
  }
  if (free_bytes() <= 0) {
    return fail(ErrorCode::no_space, fmt::format("{}: no space left on the device", path));
  }
  create(std::move(*where), true);
  return {};
}

Result<InodeNumber> FileSystem::directory(const std::string& path) const {
  auto number = walk(path);
  if (number && !at(*number).is_directory) {
    return fail(ErrorCode::io, fmt::format("{}: not a directory", path));
  }
  return number;
}

Result<std::vector<env::DirectoryEntry>> FileSystem::list(const std::string& path) const {
  auto number = directory(path);
  if (!number) {
    return std::unexpected(std::move(number.error()));
  }
  std::vector<env::DirectoryEntry> entries;
  for (const auto& [name, child] : at(*number).directory.names()) {
    const Inode& found = at(child);
    entries.push_back(
        {name, found.is_directory, !found.is_directory, found.is_directory ? 0 : found.file.size()});
  }
  return entries;
}

Result<void> FileSystem::rename(const std::string& from, const std::string& to) {
  auto source = place(from);
  auto target = place(to);
  if (!source || !target) {
    return std::unexpected(std::move(source ? target.error() : source.error()));
  }
  DirectoryImage& source_directory = inode(source->directory).directory;
  DirectoryImage& target_directory = inode(target->directory).directory;
  const auto moved = source_directory.find(source->name);
  if (!moved) {
    return missing(from);
  }
  const auto replaced = target_directory.find(target->name);
  if (replaced && (at(*replaced).is_directory || at(*moved).is_directory)) {
    return fail(ErrorCode::io, fmt::format("{}: exists", to));
  }
  if (source->directory == target->directory) {
    source_directory.rename(source->name, target->name);
  } else {
    target_directory.link(target->name, *moved);
    source_directory.unlink(source->name);
  }
  if (replaced && *replaced != *moved) {
    drop_name(*replaced);
  }
  return {};
}

Result<void> FileSystem::remove(const std::string& path) {
  auto where = place(path);
  if (!where) {
    return std::unexpected(std::move(where.error()));
  }
  const auto found = at(where->directory).directory.find(where->name);
  if (!found) {
    return missing(path);
  }
  if (at(*found).is_directory && !at(*found).directory.names().empty()) {
    return fail(ErrorCode::io, fmt::format("{}: not empty", path));
  }
  inode(where->directory).directory.unlink(where->name);
  drop_name(*found);
  return {};
}

void FileSystem::reference(InodeNumber number) {
  ++inode(number).references;
}

void FileSystem::dereference(InodeNumber number) {
  --inode(number).references;
  free_if_unused(number);
}

// Gives the space of a file back that has neither a name nor a user. Its inode stays while the name might
// come back with the power.
void FileSystem::free_if_unused(InodeNumber number) {
  Inode& freed = inode(number);
  if (freed.references > 0 || freed.names > 0) {
    return;
  }
  used_bytes_ -= std::exchange(freed.charged_bytes, 0);
}

void FileSystem::charge(Inode& charged) {
  const std::int64_t bytes = charged.file.allocated_bytes();
  used_bytes_ += bytes - std::exchange(charged.charged_bytes, bytes);
}

void FileSystem::recharge(InodeNumber number) {
  charge(inode(number));
}

std::size_t FileSystem::write(InodeNumber number, Bytes bytes, std::int64_t position) {
  Inode& written = inode(number);
  std::int64_t length = static_cast<std::int64_t>(bytes.size());
  while (length > 0 && written.file.missing_bytes(position, length) > free_bytes()) {
    // Give up the last page that the bytes reach into.
    const std::int64_t last_page = (position + length - 1) / kPageBytes * kPageBytes;
    length = std::max<std::int64_t>(0, last_page - position);
  }
  written.file.write(bytes.first(static_cast<std::size_t>(length)), position);
  charge(written);
  return static_cast<std::size_t>(length);
}

void FileSystem::truncate(InodeNumber number, std::int64_t size) {
  Inode& cut = inode(number);
  cut.file.truncate(size);
  charge(cut);
}

bool FileSystem::evict(InodeNumber number) {
  const auto found = inodes_.find(number);
  if (found == inodes_.end()) {
    return false;
  }
  found->second.file.evict();
  if (found->second.charged_bytes > 0) {
    charge(found->second);
  }
  return true;
}

void FileSystem::persist_name_with_file(InodeNumber number) {
  if (guarantees_.file_sync_keeps_name) {
    inode(inode(number).parent).directory.persist_new_name(number);
  }
}

std::set<PowerLoss> FileSystem::lose_power(env::Random& random, std::optional<PowerLoss> kind) {
  std::set<PowerLoss> kinds;
  for (auto& [number, lost] : inodes_) {
    BOOBLIK_CHECK(lost.references == 0, "no process of a machine without power has a file open");
    const PowerLoss drawn = kind ? *kind : static_cast<PowerLoss>(random.below(kPowerLossKinds));
    if (lost.is_directory) {
      lost.directory.lose_power(random, drawn, guarantees_);
    } else {
      if (!lost.file.clean()) {
        kinds.insert(drawn);
      }
      lost.file.lose_power(random, drawn, guarantees_);
    }
  }
  sweep();
  recount();
  return kinds;
}

void FileSystem::drop_name(InodeNumber number) {
  --inode(number).names;
  free_if_unused(number);
}

// Drops the inodes that no name leads to, now or after a power loss, and that nobody uses.
void FileSystem::sweep() {
  std::set<InodeNumber> reached{kRoot};
  std::vector<InodeNumber> open{kRoot};
  while (!open.empty()) {
    const InodeNumber number = open.back();
    open.pop_back();
    at(number).directory.for_each_inode([&](InodeNumber child) {
      if (reached.insert(child).second && at(child).is_directory) {
        open.push_back(child);
      }
    });
  }
  std::erase_if(inodes_, [&](const auto& entry) {
    return !reached.contains(entry.first) && entry.second.references == 0;
  });
  sweep_at_ = 64 + 2 * inodes_.size();
}

void FileSystem::recount() {
  used_bytes_ = 0;
  for (auto& [number, counted] : inodes_) {
    counted.names = 0;
    counted.charged_bytes = 0;
  }
  for (auto& [number, counted] : inodes_) {
    for (const auto& [name, child] : counted.directory.names()) {
      ++inode(child).names;
    }
    charge(counted);
  }
}

std::optional<std::pair<std::string, InodeNumber>> FileSystem::draw_file(env::Random& random) const {
  constexpr int kTries = 8;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const auto found = inodes_.lower_bound(kRoot + 1 + random.below(next_ - kRoot));
    if (found == inodes_.end() || found->second.is_directory || found->second.names == 0) {
      continue;
    }
    std::string path;
    for (InodeNumber number = found->first; number != kRoot; number = at(number).parent) {
      const auto& names = at(at(number).parent).directory.names();
      const auto name = std::ranges::find(names, number, &DirectoryImage::Names::value_type::second);
      if (name == names.end()) {
        break;  // it was moved to another directory
      }
      path.insert(0, "/" + name->first);
    }
    return std::pair(std::move(path), found->first);
  }
  return std::nullopt;
}

std::map<std::string, PagedBytes> FileSystem::snapshot(const std::string& path) const {
  std::map<std::string, PagedBytes> files;
  const auto number = directory(path);
  if (!number) {
    return files;
  }
  for (const auto& [name, child] : at(*number).directory.names()) {
    const std::string child_path = path + "/" + name;
    if (at(child).is_directory) {
      files.merge(snapshot(child_path));
    } else {
      files.emplace(child_path, at(child).file.cache());
    }
  }
  return files;
}

}  // namespace booblik::sim
