// Keeps what a producer reported, and checks that every record has exactly one outcome.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <utility>

#include <booblik/producer.h>

namespace booblik::library {

class Ledger {
 public:
  [[nodiscard]] OnDelivery listener() {
    return [this](const Delivery& delivery) {
      const std::lock_guard lock(mutex_);
      for (std::int64_t i = 0; i < delivery.records; ++i) {
        const bool acknowledged = delivery.state == Delivered::acknowledged;
        const std::pair outcome(delivery.state, acknowledged ? delivery.base_offset + i : std::int64_t{-1});
        const bool fresh = outcomes_.try_emplace({delivery.partition, delivery.first + i}, outcome).second;
        EXPECT_TRUE(fresh) << "reported twice: " << delivery.partition << " " << delivery.first + i;
      }
    };
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return outcomes_.size();
  }
  [[nodiscard]] std::size_t count(Delivered state) const {
    const std::lock_guard lock(mutex_);
    std::size_t result = 0;
    for (const auto& [ticket, outcome] : outcomes_) {
      result += outcome.first == state ? 1U : 0U;
    }
    return result;
  }
  // -1: not acknowledged.
  [[nodiscard]] std::int64_t offset(const Ticket& ticket) const {
    const std::lock_guard lock(mutex_);
    const auto found = outcomes_.find({ticket.partition, ticket.number});
    return found == outcomes_.end() ? -1 : found->second.second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::pair<Delivered, std::int64_t>> outcomes_;
};

}  // namespace booblik::library
