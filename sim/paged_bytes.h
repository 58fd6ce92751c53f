// The bytes of a file in pages that copies share until one of them writes: a snapshot costs a pointer a page,
// and a preallocated file of zeros nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace booblik::sim {

inline constexpr std::int64_t kPageBytes = 4096;

class PagedBytes {
 public:
  using Page = std::array<std::byte, kPageBytes>;

  [[nodiscard]] std::int64_t size() const { return size_; }

  // Reads up to buffer.size() bytes; fewer only at the end.
  [[nodiscard]] std::size_t read(MutableBytes buffer, std::int64_t position) const;

  // The same without an end: what was never written is zeros.
  void read_padded(MutableBytes buffer, std::int64_t position) const;

  // Grows the size where needed.
  void write(Bytes bytes, std::int64_t position);

  // Cuts, or extends with zeros. What was cut off is zeros if the size grows again.
  void resize(std::int64_t size);

  // Takes one page of another image, without a copy. Sizes do not change.
  void share_page(const PagedBytes& from, std::int64_t page);

  void flip_bit(std::int64_t position, unsigned bit);

  // What the pages that were ever written take.
  [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_pages_ * kPageBytes; }
  // What writing `length` bytes at `position` would add to it.
  [[nodiscard]] std::int64_t missing_bytes(std::int64_t position, std::int64_t length) const;

  [[nodiscard]] bool operator==(const PagedBytes& other) const;

 private:
  // A page that may be written: not shared.
  [[nodiscard]] Page& own_page(std::size_t index);

  std::vector<std::shared_ptr<Page>> pages_;  // null: zeros
  std::int64_t size_ = 0;
  std::int64_t allocated_pages_ = 0;
};

}  // namespace booblik::sim
