#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/held_value.h"
#include "sim/sim_file.h"
#include "sim/sim_network.h"

namespace booblik::sim {
namespace {

std::unexpected<Error> was_reset(const std::string& peer) {
  return fail(ErrorCode::reset, fmt::format("{}: the connection was reset", peer));
}

std::unexpected<Error> timed_out(const std::string& peer) {
  return fail(ErrorCode::timed_out, fmt::format("{}: timed out", peer));
}

constexpr std::string_view kOneOfEach = "one fiber receives and one sends at a time";

}  // namespace

SimConnection::SimConnection(Core& core, Fabric& fabric, LinkNumber link, int side)
    : core_(core), fabric_(fabric), link_(link), side_(side), peer_(fabric.link(link).sides[side].peer) {}

SimConnection::~SimConnection() {
  const HeapScope world(nullptr);
  BOOBLIK_CHECK(mine().receiver == env::FiberId{} && mine().sender == env::FiberId{},
                "no fiber is inside a call when a connection goes");
  fabric_.close(link_, side_);
}

Result<void> SimConnection::wait_readable(Deadline deadline) {
  while (true) {
    if (incoming().arrived() > 0 || incoming().end_arrived() || mine().receiving_stopped) {
      return {};
    }
    if (mine().reset) {
      return was_reset(peer_);
    }
    if (deadline.passed(core_.scheduler.now())) {
      return timed_out(peer_);
    }
    const HeldValue inside(mine().receiver, core_.scheduler.current(), kOneOfEach);
    core_.scheduler.block(deadline, "receive from", peer_);
  }
}

template <class Call>
auto SimConnection::traced(const char* what, Call call) -> decltype(call()) {
  const Instant began = core_.scheduler.now();
  auto outcome = call();
  if (core_.trace.enabled()) {
    const HeapScope world(nullptr);
    core_.trace.span(began, core_.scheduler.now(), core_.scheduler.current_track(), "network",
                     outcome ? fmt::format("{} {} bytes, connection {}", what, *outcome, link_)
                             : fmt::format("{}, connection {}: {}", what, link_, outcome.error().message));
  }
  return outcome;
}

Result<std::size_t> SimConnection::receive(MutableBytes buffer, Deadline deadline) {
  return traced("receive", [&] { return receive_some(buffer, deadline); });
}

Result<std::size_t> SimConnection::receive_some(MutableBytes buffer, Deadline deadline) {
  BOOBLIK_CHECK(!buffer.empty(), "a receive has room for a byte");
  if (mine().reset && incoming().arrived() == 0) {
    return was_reset(peer_);
  }
  if (auto readable = wait_readable(deadline); !readable) {
    return std::unexpected(std::move(readable.error()));
  }
  if (mine().receiving_stopped || incoming().arrived() == 0) {
    return 0;
  }
  const HeapScope world(nullptr);
  const std::size_t count = fabric_.draw_receive(incoming().arrived(), buffer.size());
  std::memcpy(buffer.data(), incoming().arrived_bytes().data(), count);
  fabric_.received(link_, side_, count);
  return count;
}

template <class Send>
auto SimConnection::send_when_possible(Send send_some, Deadline deadline) -> Result<decltype(send_some())> {
  while (true) {
    if (mine().reset || mine().send_broken || link().streams[side_].end_sent()) {
      return was_reset(peer_);
    }
    {
      const HeapScope world(nullptr);
      if (const auto sent = send_some(); sent > 0) {
        return sent;
      }
    }
    core_.probes.hit("sim.network.full");
    if (deadline.passed(core_.scheduler.now())) {
      return timed_out(peer_);
    }
    const HeldValue inside(mine().sender, core_.scheduler.current(), kOneOfEach);
    core_.scheduler.block(deadline, "send to", peer_);
  }
}

Result<std::size_t> SimConnection::send(std::span<const Bytes> parts, Deadline deadline) {
  BOOBLIK_CHECK(std::ranges::any_of(parts, [](Bytes part) { return !part.empty(); }), "a send holds a byte");
  return traced("send", [&] {
    return send_when_possible([&] { return fabric_.send(link_, side_, parts); }, deadline);
  });
}

Result<std::int64_t> SimConnection::send_file(env::File& file, Position position, std::int64_t length,
                                              Deadline deadline) {
  BOOBLIK_CHECK(length > 0, "a send holds a byte");
  auto& sent = dynamic_cast<SimFile&>(file);
  if (mine().reset) {
    return was_reset(peer_);
  }
  // Cold bytes come from the disk first, and that may fail.
  if (auto warmed = sent.warm(position, length); !warmed) {
    return std::unexpected(std::move(warmed.error()));
  }
  return traced("send from a file", [&] {
    return send_when_possible(
        [&] {
          return fabric_.send_file(link_, side_, sent.files(), sent.inode_number(), position.value(), length);
        },
        deadline);
  });
}

void SimConnection::shutdown_send() {
  const HeapScope world(nullptr);
  fabric_.send_end(link_, side_);
}

void SimConnection::stop_receiving() {
  const HeapScope world(nullptr);
  fabric_.stop_receiving(link_, side_);
}

void SimConnection::abort() {
  const HeapScope world(nullptr);
  fabric_.abort(link_, side_);
}

void SimConnection::on_reset(std::move_only_function<void()> callback) {
  if (callback && mine().reset_by_peer) {
    callback();
    return;
  }
  mine().on_reset = std::move(callback);
}

}  // namespace booblik::sim
