#include "broker/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "broker/foreign_protocol.h"

namespace booblik::broker {
namespace {

// The next size to receive a frame into: twice what is there, so that memory follows received bytes, but no
// more than the frame needs.
std::size_t grown(std::size_t capacity, std::size_t frame_bytes) {
  const std::size_t doubled = std::max(capacity * 2, ReceiveMemory::kFreeBytes);
  constexpr std::size_t kPage = 4096;
  const std::size_t needed = (frame_bytes + kPage - 1) / kPage * kPage;
  return frame_bytes > 0 ? std::min(doubled, std::max(needed, ReceiveMemory::kFreeBytes)) : doubled;
}

}  // namespace

void RequestReader::run() {
  while (!state_.closing()) {
    if (receive() == Next::end || handle_frames() == Next::end) {
      return;
    }
    // A connection that always has something to say gives the others their turn.
    context_.scheduler.yield();
  }
}

RequestReader::Next RequestReader::receive() {
  env::Connection& connection = *state_.connection;
  const bool streaming = last_receive_filled_ && buffer_.capacity() >= ReceiveMemory::kUsualBytes;
  if (buffer_.empty() && buffer_.has_block() && !streaming) {
    buffer_.release();
  }
  if (!buffer_.has_block()) {
    // Idle between frames: no memory is held and no time runs.
    if (!connection.wait_readable(Deadline::never()) || state_.closing()) {
      return Next::end;
    }
  }
  if (find_room() == Next::end) {
    return Next::end;
  }
  const MutableBytes room = buffer_.writable();
  Deadline deadline = Deadline::immediately();
  if (frame_started_at_) {
    deadline = Deadline(*frame_started_at_ + context_.options.frame_timeout);
  }
  const auto received = connection.receive(room, deadline);
  if (!received) {
    last_receive_filled_ = false;
    if (received.error().code != ErrorCode::timed_out) {
      return Next::end;
    }
    if (frame_started_at_) {
      cut_slow_frame();
      return Next::end;
    }
    return Next::go_on;  // nothing there after all: the next turn gives the memory back and waits
  }
  if (*received == 0) {
    return Next::end;
  }
  last_receive_filled_ = *received == room.size();
  buffer_.commit(*received);
  return Next::go_on;
}

RequestReader::Next RequestReader::find_room() {
  ReceiveMemory& memory = context_.receive_memory;
  ReceiveMemory::Block block;
  if (!buffer_.has_block()) {
    if (!memory.try_take(ReceiveMemory::kUsualBytes, block)) {
      context_.probe.hit("session.receive_memory_used_up");
      std::ignore = memory.try_take(ReceiveMemory::kFreeBytes, block);
    }
    buffer_.move_to(std::move(block));
    return Next::go_on;
  }
  if (!buffer_.writable().empty()) {
    return Next::go_on;
  }
  const std::size_t wanted = grown(buffer_.capacity(), frame_bytes_);
  const Instant stalled_at = context_.clock.now();
  while (!memory.try_take_or_overdraw(wanted, buffer_.block(), block)) {
    context_.probe.hit("session.waits_for_receive_memory");
    env::wait_any(context_.scheduler, memory.freed(), state_.changed, Deadline::never());
    if (state_.closing()) {
      return Next::end;
    }
  }
  if (frame_started_at_) {
    // The peer is not to blame for the time that it was kept waiting.
    frame_started_at_ = *frame_started_at_ + (context_.clock.now() - stalled_at);
  }
  buffer_.move_to(std::move(block));
  return Next::go_on;
}

RequestReader::Next RequestReader::handle_frames() {
  bool finished_one = false;
  std::int64_t this_turn = 0;
  while (true) {
    if (this_turn == kRequestsPerTurn) {
      this_turn = 0;
      context_.scheduler.yield();
    }
    const wire::FrameView view = wire::peek_frame(buffer_.received());
    if (view.status == wire::FrameStatus::bad_length) {
      cut_bad_length(view.length);
      return Next::end;
    }
    if (view.status == wire::FrameStatus::incomplete) {
      frame_bytes_ = view.length > 0 ? static_cast<std::size_t>(view.length + wire::kFrameLengthBytes) : 0;
      break;
    }
    if (!handler_.handle(view.frame)) {
      return Next::end;
    }
    buffer_.consume(static_cast<std::size_t>(wire::kFrameLengthBytes) + view.frame.size());
    finished_one = true;
    ++this_turn;
  }
  if (buffer_.empty()) {
    frame_started_at_.reset();
  } else if (finished_one || !frame_started_at_) {
    frame_started_at_ = context_.clock.now();
  }
  return Next::go_on;
}

void RequestReader::cut_bad_length(std::int32_t length) {
  context_.probe.hit("session.bad_frame_length");
  const std::string_view foreign = recognise_foreign_protocol(buffer_.received());
  state_.cut("bad frame length",
             foreign.empty() ? fmt::format("frame length {} is not in 1..{}", length, wire::kMaxFrameBytes)
                             : fmt::format("this looks like {}, not the booblik protocol", foreign));
}

void RequestReader::cut_slow_frame() {
  context_.probe.hit("session.slow_frame");
  const std::string_view foreign = recognise_foreign_protocol(buffer_.received());
  state_.cut(
      "slow frame",
      foreign.empty()
          ? fmt::format("a request was not complete {} ms after its first byte ({} of {} bytes)",
                        context_.options.frame_timeout.count(), buffer_.received().size(), frame_bytes_)
          : fmt::format("this looks like {}, not the booblik protocol", foreign));
}

void RequestReader::discard_rest() {
  buffer_.consume(buffer_.received().size());
  buffer_.release();
  while (state_.connection->wait_readable(Deadline::never())) {
    std::array<std::byte, ReceiveMemory::kFreeBytes> waste;
    const auto received = state_.connection->receive(waste, Deadline::immediately());
    if (!received ? received.error().code != ErrorCode::timed_out : *received == 0) {
      return;
    }
    context_.scheduler.yield();
  }
}

}  // namespace booblik::broker
