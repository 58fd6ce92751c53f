// Memory for requests that are being received: bounded over all connections, and given by what has arrived,
// never by what a length field announces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "env/sync.h"

namespace booblik::broker {

// The budget. A connection that has nothing unfinished owns no memory at all; one that has a started frame
// owns at most twice what it has received of it.
class ReceiveMemory {
 public:
  // What every connection may have beyond the budget, so that small requests get through when it is used up.
  static constexpr std::size_t kFreeBytes = 4096;
  // The usual buffer: large enough to take many pipelined requests with one receive.
  static constexpr std::size_t kUsualBytes = 64 * 1024;

  ReceiveMemory(env::Scheduler& scheduler, std::int64_t bytes_max)
      : bytes_max_(bytes_max), freed_(scheduler) {}

  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { swap(other); }
    Block& operator=(Block&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Block();

    [[nodiscard]] std::byte* data() const { return bytes_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }

   private:
    friend class ReceiveMemory;

    void swap(Block& other) noexcept;

    ReceiveMemory* owner_ = nullptr;
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_ = 0;
    std::int64_t charged_ = 0;
    bool overdraft_ = false;
  };

  // kFreeBytes always succeed.
  [[nodiscard]] bool try_take(std::size_t bytes, Block& block);

  // Like try_take, for the connection that holds `current` and wants more; beyond the budget it lets one
  // connection at a time go on, whichever asks first, so that frames which have all been started, and
  // together used the budget up, are finished one after another.
  [[nodiscard]] bool try_take_or_overdraw(std::size_t bytes, const Block& current, Block& block);

  // Notified when something was given back.
  [[nodiscard]] env::Event& freed() { return freed_; }

  [[nodiscard]] std::int64_t bytes_used() const { return bytes_used_; }

 private:
  static constexpr std::size_t kIdleBlocks = 8;

  void give_back(Block& block);
  void fill(std::size_t bytes, Block& block);

  const std::int64_t bytes_max_;
  std::int64_t bytes_used_ = 0;
  int overdrafts_ = 0;                              // blocks beyond the budget, all of one connection
  std::vector<std::unique_ptr<std::byte[]>> idle_;  // of kUsualBytes
  env::Event freed_;
};

// The bytes of one connection that have been received and not handled yet, contiguous.
class ReceiveBuffer {
 public:
  [[nodiscard]] Bytes received() const { return {block_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool has_block() const { return block_.size() > 0; }
  [[nodiscard]] std::size_t capacity() const { return block_.size(); }
  [[nodiscard]] const ReceiveMemory::Block& block() const { return block_; }

  // Where the next bytes go. Moves what is there to the front when the room behind it is used up.
  [[nodiscard]] MutableBytes writable();
  void commit(std::size_t bytes) { end_ += bytes; }
  void consume(std::size_t bytes) { begin_ += bytes; }

  // Goes on in `block`, which holds what was received and is not smaller.
  void move_to(ReceiveMemory::Block block);

  // Gives the memory back; empty only.
  void release();

 private:
  ReceiveMemory::Block block_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace booblik::broker
