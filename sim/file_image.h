// The two states of one file: what every reader of the machine sees, and what would survive the power, with
// the operations in between in the order in which they were made. Pure data; time, faults and names are
// elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "env/random.h"
#include "sim/faults.h"
#include "sim/paged_bytes.h"

namespace booblik::sim {

class FileImage {
 public:
  // --- what programs do; all of it is un-synced until persist ---
  [[nodiscard]] std::int64_t size() const { return cache_.size(); }
  [[nodiscard]] std::size_t read(MutableBytes buffer, std::int64_t position) const {
    return cache_.read(buffer, position);
  }
  void write(Bytes bytes, std::int64_t position);
  void truncate(std::int64_t size);

  // --- barriers ---

  // Names this moment: operations before it are covered by a barrier that begins now.
  using Mark = std::uint64_t;
  [[nodiscard]] Mark mark() const { return first_ + operations_.size(); }
  [[nodiscard]] bool clean() const { return operations_.empty(); }

  void persist(Mark mark);

  // A failed barrier whose pages became clean: what was written before `mark` stays readable but is not going
  // to be written any more. Truncations are in the file system's journal and do get there; so may the size.
  void drop(Mark mark, bool keep_size);

  // Dropped pages leave the cache: readers see what is on the disk.
  void evict();

  // --- the power ---
  void lose_power(env::Random& random, PowerLoss kind, const DeviceGuarantees& guarantees);

  // --- rot; each returns false when there is nothing to damage ---
  bool rot_flip(env::Random& random);
  bool rot_lose_write(env::Random& random);
  bool rot_misdirect(env::Random& random);

  [[nodiscard]] std::int64_t allocated_bytes() const { return cache_.allocated_bytes(); }
  [[nodiscard]] std::int64_t missing_bytes(std::int64_t position, std::int64_t length) const {
    return cache_.missing_bytes(position, length);
  }
  [[nodiscard]] const PagedBytes& cache() const { return cache_; }
  [[nodiscard]] const PagedBytes& durable() const { return durable_; }

 private:
  struct Operation {
    bool is_truncate = false;
    std::int64_t position = 0;  // of a truncate: the new size
    std::vector<std::byte> bytes;
    std::int64_t size_after = 0;
  };

  struct Cut;  // what of the un-synced operations is durable

  [[nodiscard]] std::vector<std::int64_t> touched_units(std::int64_t unit_bytes) const;
  void lose_prefix(env::Random& random, const DeviceGuarantees& guarantees);
  void lose_units(env::Random& random, std::int64_t unit_bytes);
  void apply(const Operation& operation);
  [[nodiscard]] std::vector<std::int64_t> dirty_pages() const;
  void settle();

  PagedBytes cache_;
  PagedBytes durable_;
  std::deque<Operation> operations_;
  Mark first_ = 0;                  // of operations_
  std::set<std::int64_t> dropped_;  // pages whose cache is not what is on the disk, and that are clean
};

}  // namespace booblik::sim
