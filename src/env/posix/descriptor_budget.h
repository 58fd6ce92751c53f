// Who may open how many descriptors.
//
// A segment roll needs a descriptor at a moment when a flood of connections may have taken them all. So a
// part of the process's limit is kept for storage: connections get what is left, storage may use everything.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "env/posix/system_calls.h"
#include "env/sync.h"

namespace booblik::env {

class DescriptorBudget {
 public:
  enum class User { storage, network };

  // One open descriptor, counted until it goes.
  class Claim {
   public:
    Claim() = default;
    Claim(DescriptorBudget& budget, User user);
    Claim(Claim&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)), user_(other.user_) {}
    Claim& operator=(Claim&& other) noexcept;
    ~Claim() { release(); }

    void release();

   private:
    DescriptorBudget* budget_ = nullptr;
    User user_ = User::network;
  };

  // `limit` is the process's, `others` what it has open that is counted nowhere here (standard streams,
  // epoll). A reserve that would leave the network less than half of the rest is cut to that half.
  DescriptorBudget(Scheduler& scheduler, std::int64_t limit, std::int64_t others,
                   std::int64_t storage_reserve);

  // For a file: never refused here.
  [[nodiscard]] Claim claim_storage() { return Claim(*this, User::storage); }

  // For a socket; nullopt when it would eat into the reserve.
  [[nodiscard]] std::optional<Claim> claim_network();

  // Notified whenever a descriptor has become free.
  Event& freed() { return freed_; }

  [[nodiscard]] std::int64_t network_open() const { return network_open_; }
  [[nodiscard]] std::int64_t storage_open() const { return storage_open_; }
  [[nodiscard]] std::int64_t network_max() const;

 private:
  std::int64_t usable_;
  std::int64_t storage_reserve_;
  std::int64_t network_open_ = 0;
  std::int64_t storage_open_ = 0;
  Event freed_;
};

// The soft limit of open descriptors as it is now.
[[nodiscard]] std::int64_t descriptor_limit(SystemCalls& system);

// Raises the soft limit to the hard one; returns what it is then. For the start of a program.
std::int64_t raise_descriptor_limit(SystemCalls& system);

// How many descriptors the process has open.
[[nodiscard]] std::int64_t count_open_descriptors(SystemCalls& system);

}  // namespace booblik::env
