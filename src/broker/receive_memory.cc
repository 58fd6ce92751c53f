#include "broker/receive_memory.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace booblik::broker {

ReceiveMemory::Block::~Block() {
  if (owner_ != nullptr) {
    owner_->give_back(*this);
  }
}

void ReceiveMemory::Block::swap(Block& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  std::swap(charged_, other.charged_);
  std::swap(overdraft_, other.overdraft_);
}

bool ReceiveMemory::try_take(std::size_t bytes, Block& block) {
  const auto charge = bytes <= kFreeBytes ? 0 : static_cast<std::int64_t>(bytes);
  if (charge > 0 && bytes_used_ + charge > bytes_max_) {
    return false;
  }
  Block taken;
  taken.charged_ = charge;
  bytes_used_ += charge;
  fill(bytes, taken);
  block = std::move(taken);
  return true;
}

bool ReceiveMemory::try_take_or_overdraw(std::size_t bytes, const Block& current, Block& block) {
  if (try_take(bytes, block)) {
    return true;
  }
  if (overdrafts_ > 0 && !current.overdraft_) {
    return false;
  }
  ++overdrafts_;
  Block taken;
  taken.overdraft_ = true;
  fill(bytes, taken);
  block = std::move(taken);
  return true;
}

void ReceiveMemory::fill(std::size_t bytes, Block& block) {
  block.owner_ = this;
  block.size_ = bytes;
  if (bytes == kUsualBytes && !idle_.empty()) {
    block.bytes_ = std::move(idle_.back());
    idle_.pop_back();
  } else {
    block.bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
}

void ReceiveMemory::give_back(Block& block) {
  bytes_used_ -= block.charged_;
  BOOBLIK_CHECK(bytes_used_ >= 0, "what is given back was taken");
  if (block.overdraft_) {
    --overdrafts_;
  }
  if (block.size_ == kUsualBytes && idle_.size() < kIdleBlocks) {
    idle_.push_back(std::move(block.bytes_));
  }
  freed_.notify_all();
}

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
