#include "env/posix/descriptor_budget.h"

#include <algorithm>
#include <utility>

#include "env/posix/directory_listing.h"

namespace booblik::env {

DescriptorBudget::Claim::Claim(DescriptorBudget& budget, User user) : budget_(&budget), user_(user) {
  ++(user == User::network ? budget.network_open_ : budget.storage_open_);
}

DescriptorBudget::Claim& DescriptorBudget::Claim::operator=(Claim&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    user_ = other.user_;
  }
  return *this;
}

void DescriptorBudget::Claim::release() {
  if (DescriptorBudget* budget = std::exchange(budget_, nullptr); budget != nullptr) {
    --(user_ == User::network ? budget->network_open_ : budget->storage_open_);
    budget->freed_.notify_all();
  }
}

DescriptorBudget::DescriptorBudget(Scheduler& scheduler, std::int64_t limit, std::int64_t others,
                                   std::int64_t storage_reserve)
    : usable_(std::max<std::int64_t>(limit - others, 0)),
      storage_reserve_(std::min(storage_reserve, usable_ / 2)),
      freed_(scheduler) {}

std::int64_t DescriptorBudget::network_max() const {
  return usable_ - std::max(storage_reserve_, storage_open_);
}

std::optional<DescriptorBudget::Claim> DescriptorBudget::claim_network() {
  if (network_open_ >= network_max()) {
    return std::nullopt;
  }
  return Claim(*this, User::network);
}

std::int64_t descriptor_limit(SystemCalls& system) {
  rlimit limit{};
  if (system.get_descriptor_limit(&limit) < 0) {
    return 256;  // what every system allows
  }
  constexpr rlim_t kMost = std::int64_t{1} << 30;  // also for "unlimited"
  return static_cast<std::int64_t>(std::min(limit.rlim_cur, kMost));
}

std::int64_t raise_descriptor_limit(SystemCalls& system) {
  rlimit limit{};
  if (system.get_descriptor_limit(&limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(system.set_descriptor_limit(limit));
  }
  return descriptor_limit(system);
}

std::int64_t count_open_descriptors(SystemCalls& system) {
  constexpr std::int64_t kUsual = 16;
  const auto names = list_names(system, "/proc/self/fd");
  return names ? static_cast<std::int64_t>(names->size()) - 1 : kUsual;  // one was open for the listing
}

}  // namespace booblik::env
