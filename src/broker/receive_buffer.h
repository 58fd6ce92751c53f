// The bytes of one connection that have been received and not handled yet, contiguous.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "broker/receive_memory.h"

namespace booblik::broker {

class ReceiveBuffer {
 public:
  [[nodiscard]] Bytes received() const { return {block_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool full() const { return end_ - begin_ == block_.size(); }
  [[nodiscard]] bool has_block() const { return block_.size() > 0; }
  [[nodiscard]] std::size_t capacity() const { return block_.size(); }
  [[nodiscard]] const ReceiveMemory::Block& block() const { return block_; }

  // Where the next bytes go. Moves what is there to the front when the room behind it is used up.
  [[nodiscard]] MutableBytes writable();
  void commit(std::size_t bytes) { end_ += bytes; }
  void consume(std::size_t bytes) { begin_ += bytes; }

  // Goes on in `block`, which has room for what was received.
  void move_to(ReceiveMemory::Block block);

  // Gives the memory back; empty only.
  void release();

 private:
  ReceiveMemory::Block block_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace booblik::broker
