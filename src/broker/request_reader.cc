#include "broker/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "broker/foreign_protocol.h"

namespace booblik::broker {
namespace {

// A peer that sends nothing for so long in the middle of a frame is slow, and a wait for it costs no more
// than a wake-up.
constexpr Duration kShrinkAfter = std::chrono::milliseconds(50);

std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

// The next size to receive a frame into: twice what is there, so that memory follows received bytes, but no
// more than the frame needs.
std::size_t grown(std::size_t capacity, std::size_t frame_bytes) {
  const std::size_t whole = whole_pages(frame_bytes);
  return whole <= ReceiveMemory::kUsualBytes ? whole : std::min(capacity * 2, whole);
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
  } else if (!buffer_.empty() && (!last_receive_filled_ || buffer_.full())) {
    // Memory is asked for when there is something to put there, not before.
    if (wait_for_more() == Next::end) {
      return Next::end;
    }
  }
  if (find_room() == Next::end) {
    return Next::end;
  }
  const MutableBytes room = buffer_.writable();
  const auto received = connection.receive(room, Deadline::immediately());
  if (!received) {
    last_receive_filled_ = false;
    // Nothing there after all: the next turn waits.
    return received.error().code == ErrorCode::timed_out ? Next::go_on : Next::end;
  }
  if (*received == 0) {
    return Next::end;
  }
  last_receive_filled_ = *received == room.size();
  buffer_.commit(*received);
  pace_.note_received(*received);
  return Next::go_on;
}

RequestReader::Next RequestReader::wait_for_more() {
  const Deadline frame_end(*frame_started_at_ + context_.options.frame_timeout);
  if (frame_end.passed(context_.clock.now())) {
    cut_slow_frame();  // one that never pauses would not be seen by the waits
    return Next::end;
  }
  auto readable = wait_at_pace(std::min(context_.after(kShrinkAfter), frame_end));
  if (!readable && readable.error().code == ErrorCode::timed_out) {
    shrink();
    readable = wait_at_pace(frame_end);
  }
  if (!readable && readable.error().code == ErrorCode::timed_out) {
    cut_slow_frame();
  }
  return readable && !state_.closing() && !stalled_ ? Next::go_on : Next::end;
}

Result<void> RequestReader::wait_at_pace(Deadline deadline) {
  if (!buffer_.block().charged()) {
    return state_.connection->wait_readable(deadline);
  }
  FramePaces& paces = context_.receive_memory.paces();
  paces.begin_wait(pace_, context_.clock.now());
  auto readable = state_.connection->wait_readable(deadline);
  paces.end_wait(pace_, context_.clock.now());
  return readable;
}

void RequestReader::shrink() {
  const std::size_t enough = whole_pages(buffer_.received().size() + 1);
  ReceiveMemory::Block block;
  if (buffer_.capacity() == ReceiveMemory::kUsualBytes && enough <= buffer_.capacity() / 2 &&
      context_.receive_memory.try_take(enough, block)) {
    buffer_.move_to(std::move(block));
  }
}

RequestReader::Next RequestReader::find_room() {
  ReceiveMemory& memory = context_.receive_memory;
  ReceiveMemory::Block block;
  if (buffer_.capacity() < ReceiveMemory::kUsualBytes) {
    if (memory.try_take(ReceiveMemory::kUsualBytes, block)) {
      buffer_.move_to(std::move(block));
    } else if (!buffer_.has_block()) {
      context_.probe.hit("session.receive_memory_used_up");
      std::ignore = memory.try_take(ReceiveMemory::kFreeBytes, block);
      buffer_.move_to(std::move(block));
    }
  }
  return buffer_.full() ? grow() : Next::go_on;
}

RequestReader::Next RequestReader::grow() {
  ReceiveMemory::Wish wish(context_.receive_memory, place_, grown(buffer_.capacity(), frame_bytes_),
                           frame_bytes_, buffer_.block());
  const Instant began_at = context_.clock.now();
  while (!wish.granted()) {
    context_.probe.hit("session.waits_for_receive_memory");
    wish.wait(state_.changed);
    if (state_.closing()) {
      return Next::end;
    }
  }
  if (frame_started_at_) {
    // The peer is not to blame for the time that it was kept waiting.
    frame_started_at_ = *frame_started_at_ + (context_.clock.now() - began_at);
  }
  buffer_.move_to(wish.take());
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
  if (finished_one) {
    frame_started_at_.reset();
    place_.reset();
    pace_.start_again();
  }
  if (!buffer_.empty() && !frame_started_at_) {
    frame_started_at_ = context_.clock.now();
  }
  return Next::go_on;
}

std::string RequestReader::unless_foreign(std::string why) const {
  const std::string_view foreign = recognise_foreign_protocol(buffer_.received());
  return foreign.empty() ? why : fmt::format("this looks like {}, not the booblik protocol", foreign);
}

void RequestReader::cut_bad_length(std::int32_t length) {
  context_.probe.hit("session.bad_frame_length");
  state_.cut("bad frame length",
             unless_foreign(fmt::format("frame length {} is not in 1..{}", length, wire::kMaxFrameBytes)));
}

void RequestReader::cut_slow_frame() {
  context_.probe.hit("session.slow_frame");
  state_.cut("slow frame",
             unless_foreign(fmt::format(
                 "a request was not complete {} ms after its first byte ({} of {} bytes)",
                 context_.options.frame_timeout.count(), buffer_.received().size(), frame_bytes_)));
}

void RequestReader::cut_stalled_frame(Duration silence) {
  context_.probe.hit("session.stalled_frame");
  stalled_ = true;
  state_.cut("stalled frame",
             fmt::format("its request stood still ({} of {} bytes came, less than {} of them in {} ms) while "
                         "others waited for memory",
                         buffer_.received().size(), frame_bytes_, FramePace::kQuantumBytes,
                         std::chrono::duration_cast<std::chrono::milliseconds>(silence).count()));
  state_.connection->stop_receiving();
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
