#include "memory_disk.h"

#include <algorithm>
#include <utility>

namespace booblik::log {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::unexpected<Error> fail_with(ErrorCode code, const std::string& path) {
  return fail(code, path + ": made to fail");
}

}  // namespace

class MemoryFile final : public env::File {
 public:
  MemoryFile(MemoryDisk& disk, std::string path, std::shared_ptr<MemoryDisk::Inode> inode)
      : disk_(disk), path_(std::move(path)), inode_(std::move(inode)) {
    disk_.open_peak = std::max(disk_.open_peak, ++disk_.open_now);
  }
  ~MemoryFile() override { --disk_.open_now; }

  Result<std::size_t> read_at(MutableBytes buffer, Position position) override {
    if (const auto verdict = disk_.ask(MemoryDisk::Operation::read, path_); verdict.error) {
      return fail_with(*verdict.error, path_);
    }
    const auto at = static_cast<std::size_t>(position.value());
    if (at >= inode_->now.size()) {
      return std::size_t{0};
    }
    const std::size_t bytes = std::min(buffer.size(), inode_->now.size() - at);
    std::copy_n(inode_->now.begin() + position.value(), bytes, buffer.begin());
    return bytes;
  }

  Result<std::int64_t> size() const override {
    if (const auto verdict = disk_.ask(MemoryDisk::Operation::size, path_); verdict.error) {
      return fail_with(*verdict.error, path_);
    }
    return static_cast<std::int64_t>(inode_->now.size());
  }

 protected:
  Result<void> do_write_at(std::span<const Bytes> parts, Position position) override {
    const auto verdict = disk_.ask(MemoryDisk::Operation::write, path_);
    auto at = static_cast<std::size_t>(position.value());
    std::size_t left = verdict.error ? verdict.bytes_written : SIZE_MAX;
    for (const Bytes part : parts) {
      const Bytes taken = part.first(std::min(left, part.size()));
      left -= taken.size();
      inode_->now.resize(std::max(inode_->now.size(), at + taken.size()));
      std::copy(taken.begin(), taken.end(), inode_->now.begin() + static_cast<std::ptrdiff_t>(at));
      at += taken.size();
    }
    return verdict.error ? Result<void>(fail_with(*verdict.error, path_)) : Result<void>();
  }

  Result<void> do_sync_data() override {
    // What is written during the call is not covered.
    const MemoryDisk::Content before = inode_->now;
    if (const auto verdict = disk_.ask(MemoryDisk::Operation::sync, path_); verdict.error) {
      return fail_with(*verdict.error, path_);
    }
    inode_->durable = before;
    return {};
  }

  Result<void> do_truncate(std::int64_t size) override {
    if (const auto verdict = disk_.ask(MemoryDisk::Operation::truncate, path_); verdict.error) {
      return fail_with(*verdict.error, path_);
    }
    inode_->now.resize(static_cast<std::size_t>(size));
    return {};
  }

 private:
  MemoryDisk& disk_;
  std::string path_;
  std::shared_ptr<MemoryDisk::Inode> inode_;
};

MemoryDisk::Verdict MemoryDisk::ask(Operation operation, const std::string& path) {
  ++counts[operation];
  return intercept ? intercept(operation, path) : Verdict{};
}

void MemoryDisk::put(const std::string& path, Content content) {
  auto inode = std::make_shared<Inode>();
  inode->now = content;
  inode->durable = std::move(content);
  names_[path] = inode;
  durable_names_[path] = inode;
  directories_.insert(parent_of(path));
  durable_directories_.insert(parent_of(path));
}

std::map<std::string, MemoryDisk::Content> MemoryDisk::snapshot() const {
  std::map<std::string, Content> files;
  for (const auto& [path, inode] : names_) {
    files[path] = inode->now;
  }
  return files;
}

void MemoryDisk::restore(const std::map<std::string, Content>& files) {
  names_.clear();
  durable_names_.clear();
  for (const auto& [path, content] : files) {
    put(path, content);
  }
}

void MemoryDisk::lose_power(const std::function<bool()>& survives) {
  constexpr std::size_t kSector = 512;
  std::map<std::string, std::shared_ptr<Inode>> left;
  std::set<std::string> all;
  for (const auto* names : {&names_, &durable_names_}) {
    for (const auto& [path, inode] : *names) {
      all.insert(path);
    }
  }
  for (const std::string& path : all) {
    const auto now = names_.find(path);
    const auto durable = durable_names_.find(path);
    const bool same =
        now != names_.end() && durable != durable_names_.end() && now->second == durable->second;
    const bool take_now = same || survives();
    const auto& names = take_now ? names_ : durable_names_;
    if (const auto found = names.find(path); found != names.end()) {
      left.insert(*found);
    }
  }
  for (const auto& [path, inode] : left) {
    Content after = inode->durable;
    if (inode->now.size() != after.size() && survives()) {
      after.resize(inode->now.size());
    }
    for (std::size_t at = 0; at < std::min(after.size(), inode->now.size()); at += kSector) {
      const std::size_t bytes = std::min({kSector, after.size() - at, inode->now.size() - at});
      const auto from = inode->now.begin() + static_cast<std::ptrdiff_t>(at);
      const auto to = after.begin() + static_cast<std::ptrdiff_t>(at);
      if (!std::equal(from, from + static_cast<std::ptrdiff_t>(bytes), to) && survives()) {
        std::copy_n(from, bytes, to);
      }
    }
    inode->now = after;
    inode->durable = std::move(after);
  }
  names_ = left;
  durable_names_ = left;
  directories_ = durable_directories_;
}

Result<std::unique_ptr<env::File>> MemoryDisk::open(const std::string& path, env::OpenMode mode) {
  const bool create = mode == env::OpenMode::create_new;
  if (const auto verdict = ask(create ? Operation::create : Operation::open, path); verdict.error) {
    return fail_with(*verdict.error, path);
  }
  if (open_now >= open_max) {
    return fail(ErrorCode::too_many_files, path + ": too many open files");
  }
  const auto found = names_.find(path);
  if (create) {
    if (found != names_.end()) {
      return fail(ErrorCode::already_exists, path + " exists");
    }
    if (!directories_.contains(parent_of(path))) {
      return fail(ErrorCode::not_found, parent_of(path) + " does not exist");
    }
    const auto inode = std::make_shared<Inode>();
    names_[path] = inode;
    return std::make_unique<MemoryFile>(*this, path, inode);
  }
  if (found == names_.end()) {
    return fail(ErrorCode::not_found, path + " does not exist");
  }
  return std::make_unique<MemoryFile>(*this, path, found->second);
}

Result<void> MemoryDisk::create_directory(const std::string& path) {
  if (const auto verdict = ask(Operation::create_directory, path); verdict.error) {
    return fail_with(*verdict.error, path);
  }
  directories_.insert(path);
  return {};
}

Result<std::vector<env::DirectoryEntry>> MemoryDisk::list(const std::string& path) {
  if (const auto verdict = ask(Operation::list, path); verdict.error) {
    return fail_with(*verdict.error, path);
  }
  std::vector<env::DirectoryEntry> entries;
  for (const auto& [name, inode] : names_) {
    if (parent_of(name) == path) {
      entries.push_back(
          {name.substr(path.size() + 1), false, true, static_cast<std::int64_t>(inode->now.size())});
    }
  }
  for (const std::string& name : directories_) {
    if (parent_of(name) == path) {
      entries.push_back({name.substr(path.size() + 1), true, false, 0});
    }
  }
  std::ranges::sort(entries);
  return entries;
}

Result<void> MemoryDisk::rename(const std::string& from, const std::string& to) {
  if (const auto verdict = ask(Operation::rename, from); verdict.error) {
    return fail_with(*verdict.error, from);
  }
  names_[to] = names_.at(from);
  names_.erase(from);
  return {};
}

Result<void> MemoryDisk::remove(const std::string& path) {
  if (const auto verdict = ask(Operation::remove, path); verdict.error) {
    return fail_with(*verdict.error, path);
  }
  return names_.erase(path) > 0 ? Result<void>() : fail(ErrorCode::not_found, path + " does not exist");
}

void MemoryDisk::reclaim(std::unique_ptr<env::File> file) {
  // What a real disk does in steps: whoever reads after that sees it.
  if (file->truncate(0)) {
    ++reclaimed;
  }
}

Result<void> MemoryDisk::sync_directory(const std::string& path) {
  // Changes during the call are not covered.
  const auto before = names_;
  const auto directories_before = directories_;
  if (const auto verdict = ask(Operation::sync_directory, path); verdict.error) {
    return fail_with(*verdict.error, path);
  }
  std::erase_if(durable_names_, [&](const auto& name) { return parent_of(name.first) == path; });
  for (const auto& name : before) {
    if (parent_of(name.first) == path) {
      durable_names_.insert(name);
    }
  }
  for (const std::string& directory : directories_before) {
    if (parent_of(directory) == path) {
      durable_directories_.insert(directory);
    }
  }
  return {};
}

Result<std::unique_ptr<env::DirectoryLock>> MemoryDisk::lock(const std::string& directory) {
  class Lock final : public env::DirectoryLock {
   public:
    explicit Lock(bool& locked) : locked_(locked) { locked_ = true; }
    ~Lock() override { locked_ = false; }

   private:
    bool& locked_;
  };
  if (const auto verdict = ask(Operation::lock, directory); verdict.error) {
    return fail_with(*verdict.error, directory);
  }
  if (locked_) {
    return fail(ErrorCode::locked, directory + " is in use by process 17");
  }
  return std::make_unique<Lock>(locked_);
}

}  // namespace booblik::log
