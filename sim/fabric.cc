#include "sim/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"

namespace booblik::sim {

Fabric::Fabric(Core& core, NetworkOptions options, std::uint64_t seed)
    : core_(core),
      options_(options),
      latency_(random_stream(seed, "network latency")),
      cuts_(random_stream(seed, "network cuts")),
      faults_(random_stream(seed, "network faults")) {}

Fabric::Link& Fabric::link(LinkNumber number) {
  const auto found = links_.find(number);
  BOOBLIK_CHECK(found != links_.end(), "a link stays while one of its ends is open");
  return *found->second;
}

Duration Fabric::draw_latency() {
  return Duration(between(latency_, options_.latency_low.count(), options_.latency_high.count()));
}

void Fabric::wake_both(const Side& side) {
  core_.scheduler.wake(side.receiver);
  core_.scheduler.wake(side.sender);
}

// --- sending ---

std::int64_t Fabric::draw_send(const Stream& stream, std::int64_t wanted) {
  const std::int64_t most = std::min(wanted, options_.buffer_bytes - stream.held_bytes());
  if (most > 1 && happens(cuts_, options_.short_send_odds)) {
    core_.probes.hit("sim.network.short_send");
    return between(cuts_, 1, most);
  }
  return std::max<std::int64_t>(0, most);
}

void Fabric::launch(LinkNumber number, int side, Stream::Piece piece) {
  Stream& stream = link(number).streams[side];
  if (happens(faults_, options_.stall_odds)) {
    core_.probes.hit("sim.network.stall");
    stream.stall_until(core_.scheduler.now() + options_.stall);
  }
  piece.arrives = core_.scheduler.now() + draw_latency();
  const Instant due = stream.send(std::move(piece));
  core_.scheduler.at(due, [this, number, side] { deliver(number, side); });
}

std::size_t Fabric::send(LinkNumber number, int side, std::span<const Bytes> parts) {
  std::size_t wanted = 0;
  for (const Bytes part : parts) {
    wanted += part.size();
  }
  auto left =
      static_cast<std::size_t>(draw_send(link(number).streams[side], static_cast<std::int64_t>(wanted)));
  const std::size_t sent = left;
  if (sent == 0) {
    return 0;
  }
  Stream::Piece piece;
  piece.bytes.reserve(sent);
  for (const Bytes part : parts) {
    const Bytes taken = part.first(std::min(left, part.size()));
    piece.bytes.insert(piece.bytes.end(), taken.begin(), taken.end());
    left -= taken.size();
  }
  core_.fingerprint.mix(number * 2 + static_cast<std::uint64_t>(side));
  core_.fingerprint.mix_bytes(piece.bytes);
  if (sent > 1 && happens(cuts_, options_.split_odds)) {
    core_.probes.hit("sim.network.split");
    const auto cut = static_cast<std::ptrdiff_t>(between(cuts_, 1, static_cast<std::int64_t>(sent) - 1));
    Stream::Piece first;
    first.bytes.assign(piece.bytes.begin(), piece.bytes.begin() + cut);
    piece.bytes.erase(piece.bytes.begin(), piece.bytes.begin() + cut);
    launch(number, side, std::move(first));
  }
  launch(number, side, std::move(piece));
  maybe_reset(number);
  return sent;
}

std::int64_t Fabric::send_file(LinkNumber number, int side, FileSystem& files, InodeNumber inode,
                               std::int64_t position, std::int64_t length) {
  const std::int64_t sent = draw_send(link(number).streams[side], length);
  if (sent == 0) {
    return 0;
  }
  Stream::Piece piece;
  piece.files = &files;
  piece.inode = inode;
  piece.position = position;
  piece.file_bytes = sent;
  files.reference(inode);
  core_.fingerprint.mix(number * 2 + static_cast<std::uint64_t>(side));
  core_.fingerprint.mix(static_cast<std::uint64_t>(sent));
  launch(number, side, std::move(piece));
  maybe_reset(number);
  return sent;
}

void Fabric::send_end(LinkNumber number, int side) {
  if (!link(number).streams[side].end_sent() && !link(number).sides[side].reset) {
    Stream::Piece piece;
    piece.end = true;
    launch(number, side, std::move(piece));
  }
}

// --- receiving ---

void Fabric::deliver(LinkNumber number, int from) {
  const auto found = links_.find(number);
  if (found == links_.end()) {
    return;
  }
  Link& here = *found->second;
  Side& to = here.sides[1 - from];
  Stream& stream = here.streams[from];
  if (!stream.deliver(core_.scheduler.now())) {
    return;
  }
  core_.fingerprint.mix(number);
  core_.fingerprint.mix_bytes(stream.arrived_bytes());
  const bool has_bytes = stream.arrived() > 0;
  if (to.open && !to.reset) {
    core_.scheduler.wake(to.receiver);
    return;
  }
  // Nobody is there to receive it; a dark machine does not even say so.
  stream.drop_arrived();
  core_.scheduler.wake(here.sides[from].sender);
  if (has_bytes && !to.dark) {
    core_.probes.hit("sim.network.sent_to_closed");
    core_.scheduler.at(core_.scheduler.now() + draw_latency(),
                       [this, number, from] { break_sending(number, from); });
  }
  drop_if_unused(number);
}

std::size_t Fabric::draw_receive(std::size_t arrived, std::size_t room) {
  const std::size_t most = std::min(arrived, room);
  if (happens(cuts_, options_.one_byte_odds)) {
    core_.probes.hit("sim.network.one_byte");
    return 1;
  }
  if (most > 1 && happens(cuts_, options_.short_receive_odds)) {
    core_.probes.hit("sim.network.short_receive");
    return static_cast<std::size_t>(between(cuts_, 1, static_cast<std::int64_t>(most)));
  }
  return most;
}

void Fabric::received(LinkNumber number, int side, std::size_t count) {
  Link& here = link(number);
  here.streams[1 - side].consume(count);
  core_.scheduler.wake(here.sides[1 - side].sender);
}

void Fabric::stop_receiving(LinkNumber number, int side) {
  Side& here = link(number).sides[side];
  here.receiving_stopped = true;
  core_.scheduler.wake(here.receiver);
}

// --- resets ---

void Fabric::maybe_reset(LinkNumber number) {
  if (!happens(faults_, options_.reset_odds)) {
    return;
  }
  core_.probes.hit("sim.network.reset");
  // Bytes that are in flight then are lost both ways: a request that never came, or an answer after the
  // commit.
  const Duration after(static_cast<std::int64_t>(
      faults_.below(2 * static_cast<std::uint64_t>(options_.latency_high.count()) + 1)));
  reset_later(number, 0, after);
  reset_later(number, 1, after);
}

void Fabric::reset_later(LinkNumber number, int side, Duration after) {
  core_.scheduler.at(core_.scheduler.now() + after, [this, number, side] {
    if (links_.contains(number)) {
      reset_side(number, side);
      drop_if_unused(number);
    }
  });
}

// The end of `side` learns that the stream is broken.
void Fabric::reset_side(LinkNumber number, int side) {
  Link& here = link(number);
  Side& reset = here.sides[side];
  if (reset.reset) {
    return;
  }
  reset.reset = true;
  reset.reset_by_peer = true;
  here.streams[side].drop_flight();
  if (options_.reset_loses_received) {
    here.streams[1 - side].drop_arrived();
  }
  core_.fingerprint.mix(number * 2 + static_cast<std::uint64_t>(side));
  core_.trace.mark(core_.scheduler.now(), {.name = "network"}, "fault", "reset");
  wake_both(reset);
  notify_reset(number, side);
}

// Whoever closes in good order lingers until its last bytes have been taken, so only the sending breaks.
void Fabric::break_sending(LinkNumber number, int side) {
  const auto found = links_.find(number);
  if (found == links_.end() || found->second->sides[side].send_broken) {
    return;
  }
  Side& broken = found->second->sides[side];
  broken.send_broken = true;
  broken.reset_by_peer = true;
  found->second->streams[side].drop_flight();
  core_.scheduler.wake(broken.sender);
  notify_reset(number, side);
}

void Fabric::notify_reset(LinkNumber number, int side) {
  if (!link(number).sides[side].on_reset) {
    return;
  }
  core_.scheduler.at(core_.scheduler.now(), [this, number, side] {
    const auto found = links_.find(number);
    if (found == links_.end() || !found->second->sides[side].on_reset) {
      return;
    }
    Side& reset = found->second->sides[side];
    const HeapScope memory(reset.process->memory());
    std::exchange(reset.on_reset, nullptr)();
  });
}

void Fabric::abort(LinkNumber number, int side) {
  Link& here = link(number);
  Side& mine = here.sides[side];
  if (mine.reset) {
    return;
  }
  mine.reset = true;
  here.streams[1 - side].drop_arrived();
  here.streams[1 - side].drop_flight();
  // What is on its way may still arrive before the reset, or be lost with it.
  if (faults_.one_in(2)) {
    here.streams[side].drop_flight();
  }
  wake_both(mine);
  reset_later(number, 1 - side, draw_latency());
}

// --- the end of links ---

// The callback's memory is the process's; a dead one's must not be touched.
void Fabric::forget_on_reset(Side& side) {
  std::construct_at(&side.on_reset);
}

void Fabric::close(LinkNumber number, int side) {
  Link& here = link(number);
  Side& mine = here.sides[side];
  send_end(number, side);
  mine.open = false;
  mine.on_reset = nullptr;
  --mine.process->sockets;
  here.streams[1 - side].drop_arrived();
  core_.scheduler.wake(here.sides[1 - side].sender);
  drop_if_unused(number);
}

void Fabric::drop_if_unused(LinkNumber number) {
  const auto found = links_.find(number);
  if (found != links_.end() && !found->second->sides[0].open && !found->second->sides[1].open) {
    links_.erase(found);
  }
}

std::size_t Fabric::open_sides(const Process& process) const {
  std::size_t open = 0;
  for (const auto& [number, here] : links_) {
    for (const Side& side : here->sides) {
      open += side.open && side.process == &process ? 1 : 0;
    }
  }
  return open;
}

void Fabric::machine_lost_power(const Machine& machine) {
  for (const auto& [number, here] : links_) {
    for (const int side : {0, 1}) {
      if (&here->sides[side].process->machine == &machine) {
        here->streams[side].drop_flight();
      }
    }
  }
}

void Fabric::process_died(Process& process, bool power_lost) {
  std::vector<ListenerNumber> listening;
  for (const auto& [number, state] : listeners_) {
    if (state.process == &process) {
      listening.push_back(number);
    }
  }
  std::ranges::for_each(listening, [this](ListenerNumber number) { close_listener(number); });
  std::vector<std::pair<LinkNumber, int>> owned;
  for (const auto& [number, here] : links_) {
    for (const int side : {0, 1}) {
      if (here->sides[side].open && here->sides[side].process == &process) {
        owned.emplace_back(number, side);
      }
    }
  }
  for (const auto& [number, side] : owned) {
    Link& here = link(number);
    forget_on_reset(here.sides[side]);
    here.sides[side].receiver = {};
    here.sides[side].sender = {};
    if (power_lost) {
      here.streams[side].drop_flight();
      here.sides[side].reset = true;
      const bool silent = happens(faults_, options_.power_loss_silent_odds);
      if (silent) {
        core_.probes.hit("sim.network.silence");
      }
      here.sides[side].dark = silent;
      reset_later(number, 1 - side, silent ? options_.silence : draw_latency());
    } else if (here.streams[1 - side].arrived() > 0) {
      // A kernel that closes a socket with bytes unread resets it.
      core_.probes.hit("sim.network.died_with_unread");
      abort(number, side);
    }
    close(number, side);
  }
}

}  // namespace booblik::sim
