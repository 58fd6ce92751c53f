// Values by number, bounded by the sum of their costs; the one that was not used for longest goes first.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <utility>

namespace booblik::log {

template <class Value>
class Lru {
 public:
  explicit Lru(std::int64_t cost_max) : cost_max_(cost_max) {}

  // The value that was kept under `key`, now the latest used; null when there is none. Valid until the next
  // put.
  [[nodiscard]] Value* find(std::uint64_t key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      return nullptr;
    }
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->value;
  }

  // Replaces what was there. Evicts until the bound holds; a value that alone is above it stays until the
  // next put.
  void put(std::uint64_t key, Value value, std::int64_t cost) {
    erase(key);
    order_.push_front({key, std::move(value), cost});
    by_key_[key] = order_.begin();
    cost_ += cost;
    while (cost_ > cost_max_ && order_.size() > 1) {
      erase(order_.back().key);
    }
  }

  void erase(std::uint64_t key) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      cost_ -= found->second->cost;
      order_.erase(found->second);
      by_key_.erase(found);
    }
  }

  void clear() {
    order_.clear();
    by_key_.clear();
    cost_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] std::int64_t cost() const { return cost_; }

 private:
  struct Kept {
    std::uint64_t key;
    Value value;
    std::int64_t cost;
  };

  std::int64_t cost_max_;
  std::int64_t cost_ = 0;
  std::list<Kept> order_;  // latest used first
  std::map<std::uint64_t, typename std::list<Kept>::iterator> by_key_;
};

}  // namespace booblik::log
