// One number for everything that happened in a run, in order: two runs of one seed must agree on it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "sim/process_heap.h"

namespace booblik::sim {

// The value after each event; the first place where two of them differ is where two runs parted.
using FingerprintHistory = std::vector<std::uint64_t>;

class Fingerprint {
 public:
  // `history` is borrowed and may be null.
  explicit Fingerprint(FingerprintHistory* history = nullptr) : history_(history) {}

  void mix(std::uint64_t value) {
    // The finaliser of splitmix64 over a running sum.
    state_ += value + 0x9E3779B97F4A7C15U;
    state_ = (state_ ^ (state_ >> 30U)) * 0xBF58476D1CE4E5B9U;
    state_ = (state_ ^ (state_ >> 27U)) * 0x94D049BB133111EBU;
    state_ ^= state_ >> 31U;
    ++events_;
    if (history_ != nullptr) {
      const HeapScope world(nullptr);
      history_->push_back(state_);
    }
  }
  void mix_bytes(Bytes bytes) { mix((std::uint64_t{crc32c(bytes)} << 32U) | (bytes.size() & 0xFFFFFFFFU)); }
  void mix_text(std::string_view text) { mix_bytes(as_bytes(text)); }

  [[nodiscard]] std::uint64_t value() const { return state_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  std::uint64_t state_ = 0;
  std::uint64_t events_ = 0;
  FingerprintHistory* history_;
};

}  // namespace booblik::sim
