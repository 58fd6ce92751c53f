#include "client/frame_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "wire/protocol.h"

namespace booblik::client {
namespace {

constexpr std::size_t kFirstCapacity = 64 * 1024;
constexpr std::size_t kLargestCapacity = std::size_t{wire::kMaxFrameBytes} + wire::kFrameLengthBytes;

}  // namespace

MutableBytes FrameBuffer::space() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  }
  if (end_ == capacity_) {
    if (begin_ > 0) {
      std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else {
      grow();
    }
  }
  return {data_.get() + end_, capacity_ - end_};
}

void FrameBuffer::grow() {
  BOOBLIK_CHECK(capacity_ < kLargestCapacity, "a complete frame is dropped before more is received");
  const std::size_t capacity = std::clamp(capacity_ * 2, kFirstCapacity, kLargestCapacity);
  auto data = std::make_unique_for_overwrite<std::byte[]>(capacity);
  std::copy(data_.get() + begin_, data_.get() + end_, data.get());
  data_ = std::move(data);
  capacity_ = capacity;
}

void FrameBuffer::filled(std::size_t count) {
  BOOBLIK_CHECK(count <= capacity_ - end_, "no more is filled than there is space");
  end_ += count;
}

void FrameBuffer::drop_first() {
  const wire::FrameView view = first();
  BOOBLIK_CHECK(view.status == wire::FrameStatus::complete, "only a complete frame is dropped");
  begin_ += wire::kFrameLengthBytes + view.frame.size();
}

}  // namespace booblik::client
