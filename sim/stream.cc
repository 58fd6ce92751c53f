#include "sim/stream.h"

#include <algorithm>
#include <utility>

namespace booblik::sim {
namespace {

void release(Stream::Piece& piece) {
  if (piece.files != nullptr) {
    std::exchange(piece.files, nullptr)->dereference(piece.inode);
  }
}

}  // namespace

Instant Stream::send(Piece piece) {
  piece.arrives = std::max(piece.arrives, not_before_);
  not_before_ = piece.arrives;
  held_bytes_ += piece.length();
  end_sent_ = end_sent_ || piece.end;
  flight_.push_back(std::move(piece));
  return not_before_;
}

void Stream::drop_flight() {
  for (Piece& piece : flight_) {
    held_bytes_ -= piece.length();
    release(piece);
  }
  flight_.clear();
}

bool Stream::deliver(Instant now) {
  bool any = false;
  while (!flight_.empty() && flight_.front().arrives <= now) {
    Piece& piece = flight_.front();
    arrived_.insert(arrived_.end(), piece.bytes.begin(), piece.bytes.end());
    if (piece.files != nullptr) {
      const std::size_t before = arrived_.size();
      arrived_.resize(before + static_cast<std::size_t>(piece.file_bytes));
      // What was cut off meanwhile arrives as zeros.
      piece.files->inode(piece.inode)
          .file.cache()
          .read_padded(MutableBytes(arrived_).subspan(before), piece.position);
    }
    end_arrived_ = end_arrived_ || piece.end;
    release(piece);
    flight_.pop_front();
    any = true;
  }
  return any;
}

void Stream::consume(std::size_t count) {
  head_ += count;
  held_bytes_ -= static_cast<std::int64_t>(count);
  if (head_ == arrived_.size()) {
    arrived_.clear();
    head_ = 0;
  }
}

}  // namespace booblik::sim
