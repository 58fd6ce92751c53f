#include "broker/receive_memory.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/protocol.h"

namespace booblik::broker {

ReceiveMemory::ReceiveMemory(env::Scheduler& scheduler, env::Clock& clock, std::int64_t bytes_max,
                             Duration stall_time)
    : scheduler_(scheduler),
      clock_(clock),
      open_bytes_max_(bytes_max / 2),
      finishing_max_(std::max<std::int64_t>(1, bytes_max / 2 / wire::kMaxFrameBytes)),
      stall_time_(stall_time) {}

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
  std::swap(finishing_, other.finishing_);
}

bool ReceiveMemory::fits(std::size_t bytes, FrameSize size) const {
  const std::int64_t eighth = open_bytes_max_ / 8;
  const std::int64_t kept = size == FrameSize::large ? 2 * eighth : size == FrameSize::unknown ? eighth : 0;
  return bytes <= kFreeBytes || bytes_used_ + static_cast<std::int64_t>(bytes) <= open_bytes_max_ - kept;
}

bool ReceiveMemory::try_take(std::size_t bytes, Block& block) {
  BOOBLIK_CHECK(bytes <= kUsualBytes, "what is larger waits in the order of arrival");
  if (!fits(bytes, FrameSize::unknown)) {
    return false;
  }
  Block taken;
  fill_charged(bytes, taken);
  block = std::move(taken);
  return true;
}

void ReceiveMemory::fill_charged(std::size_t bytes, Block& block) {
  block.charged_ = bytes <= kFreeBytes ? 0 : static_cast<std::int64_t>(bytes);
  bytes_used_ += block.charged_;
  fill(bytes, block);
}

void ReceiveMemory::fill_finishing(std::size_t bytes, Block& block) {
  ++finishing_;
  block.finishing_ = true;
  fill(bytes, block);
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
  if (block.finishing_) {
    --finishing_;
  }
  bytes_used_ -= block.charged_;
  BOOBLIK_CHECK(bytes_used_ >= 0 && finishing_ >= 0, "what is given back was taken");
  if (block.size_ == kUsualBytes && idle_.size() < kIdleBlocks) {
    idle_.push_back(std::move(block.bytes_));
  }
  if (block.charged()) {
    cut_is_pending_ = false;
    serve_wishes();
  }
}

void ReceiveMemory::serve_wishes() {
  while (!wishes_.empty()) {
    Wish& first = *wishes_.begin();
    if (fits(first.bytes_, first.size_)) {
      fill_charged(first.bytes_, first.block_);
    } else if (finishing_ < finishing_max_) {
      fill_finishing(first.bytes_, first.block_);
    } else {
      first.changed_.notify_all();  // it may be the first now, and has to police
      return;
    }
    wishes_.erase(wishes_.begin());
    first.changed_.notify_all();
  }
}

ReceiveMemory::Wish::Wish(ReceiveMemory& memory, std::optional<Place>& place, std::size_t bytes,
                          std::size_t frame_bytes, const Block& current)
    : memory_(memory),
      size_(frame_bytes <= kUsualBytes ? FrameSize::small : FrameSize::large),
      bytes_(bytes),
      changed_(memory.scheduler_) {
  if (current.finishing_) {
    memory.fill_finishing(bytes, block_);
    return;
  }
  if (memory.wishes_.empty() && memory.fits(bytes, size_)) {
    memory.fill_charged(bytes, block_);
    return;
  }
  if (!place) {
    place = Place{++memory.last_place_, memory.clock_.now()};
  }
  place_ = *place;
  memory.wishes_.insert(*this);
  memory.serve_wishes();
}

ReceiveMemory::Wish::~Wish() {
  if (is_linked()) {
    memory_.wishes_.erase(*this);
    memory_.serve_wishes();
  }
}

void ReceiveMemory::Wish::wait(env::Event& other) {
  const bool first = &*memory_.wishes_.begin() == this;
  const Deadline look_again = first ? memory_.police(place_.since) : Deadline::never();
  env::wait_any(memory_.scheduler_, changed_, other, look_again);
}

Duration ReceiveMemory::allowed_silence(Duration waited) const {
  const std::int64_t times = std::min<std::int64_t>(waited / stall_time_, 3);
  return times == 0 ? stall_time_ : stall_time_ / (std::int64_t{2} << times);
}

Deadline ReceiveMemory::police(Instant waiting_since) {
  if (cut_is_pending_) {
    return Deadline::never();  // giving back wakes the first
  }
  const Instant now = clock_.now();
  const Duration allowed = allowed_silence(now - waiting_since);
  // What is allowed shrinks, and others fall silent.
  const Deadline at_the_latest(now + std::max(stall_time_ / 16, Duration(1)));
  if (paces_.empty()) {
    return at_the_latest;
  }
  const Deadline due(paces_.slowest_since() + allowed);
  if (!due.passed(now)) {
    return std::min(due, at_the_latest);
  }
  cut_is_pending_ = true;
  paces_.cut_slowest(now);
  return Deadline::never();
}

}  // namespace booblik::broker
