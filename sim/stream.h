// One direction of a connection: pieces in flight, then bytes that have arrived and wait for the receiver.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "sim/file_system.h"

namespace booblik::sim {

class Stream {
 public:
  struct Piece {
    Instant arrives;
    std::vector<std::byte> bytes;
    // Of send_file: the bytes are read when they arrive, as a kernel's socket refers to cached pages. The
    // piece holds a reference to the inode.
    FileSystem* files = nullptr;
    InodeNumber inode = 0;
    std::int64_t position = 0;
    std::int64_t file_bytes = 0;
    bool end = false;

    [[nodiscard]] std::int64_t length() const { return file_bytes + static_cast<std::int64_t>(bytes.size()); }
  };

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { drop_flight(); }

  // --- the sender's side ---
  // Says when it will arrive: not before what was sent earlier.
  Instant send(Piece piece);
  [[nodiscard]] bool end_sent() const { return end_sent_; }
  // Sent but not received.
  [[nodiscard]] std::int64_t held_bytes() const { return held_bytes_; }
  void stall_until(Instant until) { not_before_ = std::max(not_before_, until); }
  void drop_flight();

  // --- the receiver's side ---
  // Moves what is due into the arrived bytes; true when something was.
  bool deliver(Instant now);
  [[nodiscard]] std::size_t arrived() const { return arrived_.size() - head_; }
  [[nodiscard]] Bytes arrived_bytes() const { return Bytes(arrived_).subspan(head_); }
  [[nodiscard]] bool end_arrived() const { return end_arrived_; }
  void consume(std::size_t count);
  void drop_arrived() { consume(arrived()); }

 private:
  std::deque<Piece> flight_;
  std::vector<std::byte> arrived_;
  std::size_t head_ = 0;
  std::int64_t held_bytes_ = 0;
  Instant not_before_;
  bool end_sent_ = false;
  bool end_arrived_ = false;
};

}  // namespace booblik::sim
