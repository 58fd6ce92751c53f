#include "broker/receive_buffer.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace booblik::broker {

MutableBytes ReceiveBuffer::writable() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (end_ == block_.size() && begin_ > 0) {
    std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {block_.data() + end_, block_.size() - end_};
}

void ReceiveBuffer::move_to(ReceiveMemory::Block block) {
  const Bytes bytes = received();
  BOOBLIK_CHECK(block.size() >= bytes.size(), "a new block holds what was received");
  if (!bytes.empty()) {
    std::memcpy(block.data(), bytes.data(), bytes.size());
  }
  end_ = bytes.size();
  begin_ = 0;
  block_ = std::move(block);
}

void ReceiveBuffer::release() {
  BOOBLIK_CHECK(empty(), "only an empty buffer is given back");
  block_ = ReceiveMemory::Block();
  begin_ = end_ = 0;
}

}  // namespace booblik::broker
