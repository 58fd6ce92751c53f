// Listening and connecting.
#include <fmt/format.h>

#include <algorithm>

#include "sim/fabric.h"

namespace booblik::sim {
namespace {

constexpr std::uint16_t kFirstFreePort = 30'000;

std::string address_of(std::uint16_t port) {
  return fmt::format("127.0.0.1:{}", port);
}

}  // namespace

std::optional<ListenerNumber> Fabric::listen(Process& process, std::uint16_t port) {
  const auto taken = [this](std::uint16_t candidate) {
    return std::ranges::any_of(listeners_,
                               [candidate](const auto& entry) { return entry.second.port == candidate; });
  };
  if (port == 0) {
    for (port = kFirstFreePort; taken(port); ++port) {
    }
  } else if (taken(port)) {
    return std::nullopt;
  }
  const ListenerNumber number = next_listener_++;
  ListenerState& state = listeners_[number];
  state.process = &process;
  state.port = port;
  ++process.sockets;
  return number;
}

Fabric::ListenerState* Fabric::listener(ListenerNumber number) {
  const auto found = listeners_.find(number);
  return found == listeners_.end() ? nullptr : &found->second;
}

void Fabric::close_listener(ListenerNumber number) {
  const auto found = listeners_.find(number);
  if (found == listeners_.end()) {
    return;
  }
  for (const LinkNumber waiting : found->second.backlog) {
    if (links_.contains(waiting)) {  // it may be gone when its peer gave up
      link(waiting).sides[1].reset = true;
      link(waiting).sides[1].open = false;
      link(waiting).streams[0].drop_arrived();
      reset_later(waiting, 0, draw_latency());
    }
  }
  --found->second.process->sockets;
  const env::FiberId acceptor = found->second.acceptor;
  listeners_.erase(found);
  core_.scheduler.wake(acceptor);
}

std::optional<LinkNumber> Fabric::connect(Process& process, std::uint16_t port) {
  const auto found =
      std::ranges::find_if(listeners_, [port](const auto& entry) { return entry.second.port == port; });
  if (happens(faults_, options_.refuse_odds)) {
    core_.probes.hit("sim.network.refused");
    return std::nullopt;
  }
  if (found == listeners_.end() ||
      static_cast<std::int64_t>(found->second.backlog.size()) >= options_.backlog_max) {
    return std::nullopt;
  }
  const LinkNumber number = next_link_++;
  auto made = std::make_unique<Link>();
  made->sides[0].process = &process;
  made->sides[0].open = true;
  made->sides[0].peer = address_of(port);
  made->sides[1].process = found->second.process;
  made->sides[1].peer = address_of(next_port_);
  // A connection that waits to be accepted receives already.
  made->sides[1].open = true;
  next_port_ = next_port_ == 65'535 ? std::uint16_t{40'000} : static_cast<std::uint16_t>(next_port_ + 1);
  ++process.sockets;
  links_.emplace(number, std::move(made));
  found->second.backlog.push_back(number);
  core_.scheduler.wake(found->second.acceptor);
  return number;
}

LinkNumber Fabric::accept(ListenerState& from) {
  const LinkNumber number = from.backlog.front();
  from.backlog.pop_front();
  ++from.process->sockets;
  return number;
}

}  // namespace booblik::sim
