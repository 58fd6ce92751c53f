#include "sim/sim_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace booblik::sim {
namespace {

constexpr Duration kHandlesRetry{10'000'000};

bool is_local(const std::string& host) {
  return host == "127.0.0.1" || host == "localhost" || host == "0.0.0.0";
}

}  // namespace

SimListener::SimListener(Core& core, Fabric& fabric, Process& process, ListenerNumber number)
    : core_(core),
      fabric_(fabric),
      process_(process),
      number_(number),
      port_(fabric.listener(number)->port),
      address_(fmt::format("127.0.0.1:{}", port_)) {}

void SimListener::close() {
  const HeapScope world(nullptr);
  fabric_.close_listener(number_);
}

Result<std::unique_ptr<env::Connection>> SimListener::accept(Deadline deadline) {
  while (true) {
    Fabric::ListenerState* state = fabric_.listener(number_);
    if (state == nullptr) {
      return fail(ErrorCode::closed, fmt::format("{} does not listen any more", address_));
    }
    const bool out_of_handles = process_.out_of_handles();
    if (!state->backlog.empty() && !out_of_handles) {
      LinkNumber link = 0;
      {
        const HeapScope world(nullptr);
        link = fabric_.accept(*state);
        core_.trace.mark(core_.scheduler.now(), core_.scheduler.current_track(), "network",
                         core_.trace.enabled() ? fmt::format("accept connection {}", link) : std::string());
      }
      return std::make_unique<SimConnection>(core_, fabric_, link, 1);
    }
    if (deadline.passed(core_.scheduler.now())) {
      return fail(ErrorCode::timed_out, fmt::format("{}: nobody connected", address_));
    }
    if (out_of_handles) {
      core_.probes.hit("sim.network.accept_out_of_handles");
    }
    const Deadline retry(core_.scheduler.now() + kHandlesRetry);
    state->acceptor = core_.scheduler.current();
    core_.scheduler.block(out_of_handles ? std::min(deadline, retry) : deadline, "accept on", address_);
    if (state = fabric_.listener(number_); state != nullptr) {
      state->acceptor = {};
    }
  }
}

Result<std::unique_ptr<env::Listener>> SimNetwork::listen(const std::string& host, std::uint16_t port) {
  if (!is_local(host)) {
    return fail(ErrorCode::invalid, fmt::format("{} is not an address of this machine", host));
  }
  const auto number = from_world([&] { return fabric_.listen(process_, port); });
  if (!number) {
    return fail(ErrorCode::address_in_use, fmt::format("{}:{} is in use", host, port));
  }
  return std::make_unique<SimListener>(core_, fabric_, process_, *number);
}

Result<std::unique_ptr<env::Connection>> SimNetwork::connect(const std::string& host, std::uint16_t port,
                                                             Deadline deadline) {
  const Instant began = core_.scheduler.now();
  auto connected = connect_in_time(host, port, deadline);
  if (core_.trace.enabled()) {
    const HeapScope world(nullptr);
    core_.trace.span(began, core_.scheduler.now(), core_.scheduler.current_track(), "network",
                     connected ? fmt::format("connect to {}:{}", host, port)
                               : fmt::format("connect: {}", connected.error().message));
  }
  return connected;
}

Result<std::unique_ptr<env::Connection>> SimNetwork::connect_in_time(const std::string& host,
                                                                     std::uint16_t port, Deadline deadline) {
  const Instant arrives = core_.scheduler.now() + fabric_.draw_latency() + fabric_.draw_latency();
  if (arrives > deadline.at()) {
    core_.scheduler.sleep(std::max(Duration(0), deadline.at() - core_.scheduler.now()), "connect to", host);
    return fail(ErrorCode::timed_out, fmt::format("{}:{}: timed out", host, port));
  }
  core_.scheduler.sleep(arrives - core_.scheduler.now(), "connect to", host);
  if (process_.out_of_handles()) {
    return fail(ErrorCode::too_many_files, fmt::format("{}:{}: too many open files", host, port));
  }
  const auto link =
      is_local(host) ? from_world([&] { return fabric_.connect(process_, port); }) : std::nullopt;
  if (!link) {
    return fail(ErrorCode::unreachable, fmt::format("{}:{}: connection refused", host, port));
  }
  return std::make_unique<SimConnection>(core_, fabric_, *link, 0);
}

}  // namespace booblik::sim
