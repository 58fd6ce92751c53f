// The two states of one directory: the names that programs see, and those that would survive the power, with
// the changes in between. Pure data.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "env/random.h"
#include "sim/faults.h"

namespace booblik::sim {

using InodeNumber = std::uint64_t;

class DirectoryImage {
 public:
  using Names = std::map<std::string, InodeNumber>;

  // --- what programs do; un-synced until persist ---
  [[nodiscard]] const Names& names() const { return cache_; }
  [[nodiscard]] std::optional<InodeNumber> find(const std::string& name) const;
  void link(const std::string& name, InodeNumber inode);
  void unlink(const std::string& name);
  // Within this directory, atomic.
  void rename(const std::string& from, const std::string& to);

  using Mark = std::uint64_t;
  [[nodiscard]] Mark mark() const { return first_ + changes_.size(); }
  void persist(Mark mark);
  // Makes the name under which `inode` was created durable, and nothing else.
  void persist_new_name(InodeNumber inode);

  // keep_all, drop_all, otherwise an ordered prefix or (unless the names are ordered) any subset of the
  // changes.
  void lose_power(env::Random& random, PowerLoss kind, const DeviceGuarantees& guarantees);

  [[nodiscard]] const Names& durable() const { return durable_; }

  // Every inode that a name leads to, now or after some power loss; repetitions included.
  template <class Visit>
  void for_each_inode(Visit visit) const {
    for (const auto& [name, inode] : cache_) {
      visit(inode);
    }
    for (const auto& [name, inode] : durable_) {
      visit(inode);
    }
    for (const Change& change : changes_) {
      visit(change.inode);
    }
  }

 private:
  struct Change {
    enum class Kind { link, unlink, rename };
    Kind kind = Kind::link;
    std::string name;
    std::string to;
    InodeNumber inode = 0;
    bool done = false;  // durable already, ahead of its turn
  };

  void make_durable(const Change& change);

  Names cache_;
  Names durable_;
  std::deque<Change> changes_;
  Mark first_ = 0;
};

}  // namespace booblik::sim
