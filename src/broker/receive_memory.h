// Memory for requests that are being received: bounded over all connections, and given by what has arrived,
// never by what a length field announces.
#pragma once

#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "broker/frame_pace.h"
#include "env/clock.h"
#include "env/sync.h"

namespace booblik::broker {

// The budget. A connection that has nothing unfinished owns no memory at all; one that has a started frame
// owns at most twice what it has received of it, or kUsualBytes for a moment.
//
// Half of it is given to whoever asks. When that is used up, frames wait for more in the order in which they
// first had to, and the first of them are finished with the other half, a few at a time: so a crowd of frames
// that have all been started cannot block each other. While one waits, those that stand still are cut, the
// longest silent first (docs/security.md has the reasons).
class ReceiveMemory {
 public:
  // What every connection may have beyond the budget, so that small requests get through when it is used up.
  static constexpr std::size_t kFreeBytes = 4096;
  // The usual buffer: large enough to take many pipelined requests with one receive. A frame that fits it is
  // small: it waits for no large one, and an eighth of the open half is kept for such frames.
  static constexpr std::size_t kUsualBytes = 64 * 1024;

  // Silence longer than `stall_time` is cut while somebody waits; a quarter of it when he has waited for
  // `stall_time`, an eighth after twice, a sixteenth after three times that and from then on. At least one
  // frame is finished at a time, if need be beyond `bytes_max`.
  ReceiveMemory(env::Scheduler& scheduler, env::Clock& clock, std::int64_t bytes_max, Duration stall_time);
  ReceiveMemory(const ReceiveMemory&) = delete;
  ReceiveMemory& operator=(const ReceiveMemory&) = delete;

  enum class FrameSize { small, unknown, large };

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
    // Whether others could use this memory.
    [[nodiscard]] bool charged() const { return charged_ > 0 || finishing_; }

   private:
    friend class ReceiveMemory;

    void swap(Block& other) noexcept;

    ReceiveMemory* owner_ = nullptr;
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_ = 0;
    std::int64_t charged_ = 0;
    bool finishing_ = false;
  };

  // Does not wait, and passes by those who do: for at most kUsualBytes. kFreeBytes always succeed.
  [[nodiscard]] bool try_take(std::size_t bytes, Block& block);

  // Where a frame stands in the order of those that had to wait; empty until it had to. One for each frame.
  struct Place {
    std::uint64_t number = 0;
    Instant since;
  };

  // The wish of a connection, which holds `current`, for a block of `bytes` for its frame of `frame_bytes`.
  // It is granted at once when there is room and nobody is before it, and to a connection that finishes its
  // frame.
  class Wish
      : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::safe_link>> {
   public:
    Wish(ReceiveMemory& memory, std::optional<Place>& place, std::size_t bytes, std::size_t frame_bytes,
         const Block& current);
    Wish(const Wish&) = delete;
    Wish& operator=(const Wish&) = delete;
    ~Wish();

    [[nodiscard]] bool granted() const { return block_.size() > 0; }
    [[nodiscard]] Block take() { return std::move(block_); }

    // Waits until it may have been granted, or `other` is notified. Whoever is first in the order cuts those
    // who stand still. Parks.
    void wait(env::Event& other);

    friend bool operator<(const Wish& left, const Wish& right) {
      return std::tie(left.size_, left.place_.number) < std::tie(right.size_, right.place_.number);
    }

   private:
    friend class ReceiveMemory;

    ReceiveMemory& memory_;
    FrameSize size_;
    Place place_;
    std::size_t bytes_;
    Block block_;
    env::Event changed_;
  };

  // Where connections with a charged block tell how their frames come in.
  [[nodiscard]] FramePaces& paces() { return paces_; }

  [[nodiscard]] std::int64_t open_bytes_used() const { return bytes_used_; }
  [[nodiscard]] std::int64_t finishing() const { return finishing_; }

 private:
  static constexpr std::size_t kIdleBlocks = 8;

  [[nodiscard]] bool fits(std::size_t bytes, FrameSize size) const;
  void give_back(Block& block);
  void fill(std::size_t bytes, Block& block);
  void fill_charged(std::size_t bytes, Block& block);
  void fill_finishing(std::size_t bytes, Block& block);
  [[nodiscard]] Duration allowed_silence(Duration waited) const;
  void serve_wishes();
  // Cuts the slowest if it is time; says when to look again.
  Deadline police(Instant waiting_since);

  env::Scheduler& scheduler_;
  env::Clock& clock_;
  const std::int64_t open_bytes_max_;
  const std::int64_t finishing_max_;
  const Duration stall_time_;
  std::int64_t bytes_used_ = 0;  // of the open half
  std::int64_t finishing_ = 0;   // blocks of the other half, in general one of a connection
  std::vector<std::unique_ptr<std::byte[]>> idle_;  // of kUsualBytes
  std::uint64_t last_place_ = 0;
  boost::intrusive::set<Wish> wishes_;  // that are not granted
  FramePaces paces_;
  bool cut_is_pending_ = false;  // a connection was cut and has not given its memory back yet
};

}  // namespace booblik::broker
