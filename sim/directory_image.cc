#include "sim/directory_image.h"

#include <utility>

#include "base/check.h"

namespace booblik::sim {

std::optional<InodeNumber> DirectoryImage::find(const std::string& name) const {
  const auto found = cache_.find(name);
  return found == cache_.end() ? std::nullopt : std::optional(found->second);
}

void DirectoryImage::link(const std::string& name, InodeNumber inode) {
  cache_[name] = inode;
  changes_.push_back({Change::Kind::link, name, {}, inode});
}

void DirectoryImage::unlink(const std::string& name) {
  changes_.push_back({Change::Kind::unlink, name, {}, cache_.at(name)});
  cache_.erase(name);
}

void DirectoryImage::rename(const std::string& from, const std::string& to) {
  const InodeNumber inode = cache_.at(from);
  cache_.erase(from);
  cache_[to] = inode;
  changes_.push_back({Change::Kind::rename, from, to, inode});
}

void DirectoryImage::make_durable(const Change& change) {
  if (change.done) {
    return;
  }
  const auto old = durable_.find(change.name);
  const bool names_it = old != durable_.end() && old->second == change.inode;
  switch (change.kind) {
    case Change::Kind::link:
      durable_[change.name] = change.inode;
      break;
    case Change::Kind::unlink:
      if (names_it) {
        durable_.erase(old);
      }
      break;
    case Change::Kind::rename:
      if (names_it) {
        durable_.erase(old);
      }
      durable_[change.to] = change.inode;
      break;
  }
}

void DirectoryImage::persist(Mark mark) {
  while (first_ < mark && !changes_.empty()) {
    make_durable(changes_.front());
    changes_.pop_front();
    ++first_;
  }
}

void DirectoryImage::persist_new_name(InodeNumber inode) {
  for (Change& change : changes_) {
    if (change.kind == Change::Kind::link && change.inode == inode) {
      make_durable(change);
      change.done = true;
    }
  }
}

void DirectoryImage::lose_power(env::Random& random, PowerLoss kind, const DeviceGuarantees& guarantees) {
  if (kind == PowerLoss::keep_all) {
    persist(mark());
  } else if (kind != PowerLoss::drop_all && (kind == PowerLoss::prefix || guarantees.ordered_names)) {
    persist(first_ + random.below(changes_.size() + 1));
  } else if (kind != PowerLoss::drop_all) {
    for (const Change& change : changes_) {
      if (random.one_in(2)) {
        make_durable(change);
      }
    }
  }
  cache_ = durable_;
  first_ += changes_.size();
  changes_.clear();
}

}  // namespace booblik::sim
