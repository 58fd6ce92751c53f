// Collects received bytes until the first frame is whole. Memory follows the bytes that have really come,
// whatever length a frame announces, and never exceeds the largest frame.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "wire/request.h"

namespace booblik::client {

class FrameBuffer {
 public:
  // Where to receive to: at least one byte. Moves what first() has shown.
  [[nodiscard]] MutableBytes space();
  // So many bytes of space() have been filled.
  void filled(std::size_t count);

  // The view lives until the next call of space().
  [[nodiscard]] wire::FrameView first() const {
    return wire::peek_frame({data_.get() + begin_, end_ - begin_});
  }
  // Drops the first frame, which is complete.
  void drop_first();

  [[nodiscard]] bool empty() const { return begin_ == end_; }

 private:
  void grow();

  std::unique_ptr<std::byte[]> data_;  // [begin_, end_) is received and not dropped
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace booblik::client
