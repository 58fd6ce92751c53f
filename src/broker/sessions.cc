#include "broker/sessions.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace booblik::broker {
namespace {

// A listener that fails at once would otherwise keep the processor busy.
constexpr Duration kAfterFailedAccept = std::chrono::milliseconds(100);

}  // namespace

void Sessions::accept_from(env::Listener& listener) {
  while (true) {
    auto accepted = listener.accept(Deadline::never());
    if (!accepted) {
      if (accepted.error().code == ErrorCode::closed) {
        return;
      }
      context_.log.warn("accept failed", fmt::format("accept failed: {}", accepted.error().message));
      context_.scheduler.park(context_.after(kAfterFailedAccept));
      continue;
    }
    ++context_.metrics.connections_accepted;
    if (context_.metrics.connections >= context_.options.connections_max) {
      ++context_.metrics.connections_refused;
      context_.probe.hit("sessions.too_many_connections");
      context_.log.warn(
          "too many connections",
          fmt::format("closed {}: {} connections are open, the limit (booblik.limit.connections)",
                      (*accepted)->peer(), context_.metrics.connections));
      continue;
    }
    start(std::move(*accepted));
    // A backlog of hundreds is taken one by one, between the turns of those who are served.
    context_.scheduler.yield();
  }
}

void Sessions::start(std::unique_ptr<env::Connection> connection) {
  const std::string peer = connection->peer();
  const std::int64_t number = next_number_++;
  Session& session =
      *sessions_.emplace(number, std::make_unique<Session>(context_, std::move(connection))).first->second;
  ++context_.metrics.connections;
  running_.add();
  context_.scheduler.spawn("session " + peer, [this, number, &session] {
    session.run();
    sessions_.erase(number);
    --context_.metrics.connections;
    running_.done();
  });
}

void Sessions::shut_down(Deadline deadline) {
  for (auto& [number, session] : sessions_) {
    session->shut_down();
  }
  if (running_.wait(deadline)) {
    return;
  }
  context_.probe.hit("sessions.aborted_at_shutdown");
  for (auto& [number, session] : sessions_) {
    session->abort();
  }
  // Those that wait for the disk are told by the writers, which the caller stops next.
  std::ignore = running_.wait(context_.after(std::chrono::milliseconds(100)));
}

}  // namespace booblik::broker
