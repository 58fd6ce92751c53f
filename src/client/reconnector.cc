#include "client/reconnector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/held_value.h"
#include "client/metadata.h"

namespace booblik::client {

std::string_view name_of(ConnectionState state) {
  switch (state) {
    case ConnectionState::connected:
      return "connected";
    case ConnectionState::reconnecting:
      return "reconnecting";
    case ConnectionState::gave_up:
      break;
  }
  return "gave up";
}

Reconnector::Reconnector(Roles roles, Target target, ReconnectOptions options, OnConnection on_connection)
    : roles_(roles),
      target_(std::move(target)),
      options_(options),
      on_connection_(std::move(on_connection)),
      cancelled_event_(roles.scheduler) {}

bool Reconnector::worth_another(const Failure& failure) const {
  return options_.enabled && (failure.kind == FailureKind::unreachable || failure.kind == FailureKind::lost ||
                              failure.kind == FailureKind::timed_out);
}

bool Reconnector::lost(const Failure& failure) {
  if (cancelled_ || !worth_another(failure)) {
    return false;
  }
  note(failure);
  return true;
}

void Reconnector::note(const Failure& failure) {
  last_failure_ = failure;
  ++failures_;
  pause_ = draw_pause();
  next_attempt_ = roles_.clock.now() + pause_;
  tell(ConnectionState::reconnecting);
}

Duration Reconnector::draw_pause() {
  if (failures_ < 2) {
    return Duration(0);
  }
  constexpr std::uint64_t kDoublingsMax = 40;  // keeps the shift small; pause_max is reached long before
  Duration pause = std::max(options_.pause_first, Duration(1));
  for (std::uint64_t i = 2; i < std::min(failures_, kDoublingsMax) && pause < options_.pause_max; ++i) {
    pause *= 2;
  }
  pause = std::min(pause, options_.pause_max);
  const auto half = static_cast<std::uint64_t>(pause.count() / 2);
  return Duration(static_cast<std::int64_t>(half + roles_.random.below(half + 1)));
}

Outcome<std::optional<TopicConnection>> Reconnector::connect(Deadline deadline) {
  BOOBLIK_CHECK(last_failure_.has_value(), "a connection was lost");
  while (true) {
    const Instant now = roles_.clock.now();
    if (cancelled_) {
      return failed(FailureKind::closed, "closed while there was no connection");
    }
    trying_since_ = trying_since_.value_or(now);
    if (now - *trying_since_ >= options_.give_up_after) {
      return give_up(now);
    }
    if (now < next_attempt_) {
      if (deadline.passed(now)) {
        return std::nullopt;
      }
      cancelled_event_.wait(std::min(deadline, Deadline(next_attempt_)));
      continue;
    }
    auto connected = attempt();
    if (connected) {
      ++connections_;
      tell(ConnectionState::connected);
      return std::optional(std::move(*connected));
    }
    if (cancelled_) {
      continue;
    }
    if (!worth_another(connected.error())) {
      last_failure_ = connected.error();
      tell(ConnectionState::gave_up);
      return std::unexpected(std::move(connected.error()));
    }
    note(connected.error());
  }
}

Outcome<TopicConnection> Reconnector::attempt() {
  const Deadline deadline(roles_.clock.now() + target_.attempt_timeout);
  auto connection = Connection::open(roles_.network, target_.broker, deadline);
  if (!connection) {
    return std::unexpected(std::move(connection.error()));
  }
  if (cancelled_) {
    return failed(FailureKind::closed, "closed");
  }
  const HeldValue<Connection*> asked(candidate_, connection->get(), "one connection is asked at a time");
  auto topic = ask_topic(**connection, target_.topic, deadline);
  if (!topic) {
    return std::unexpected(std::move(topic.error()));
  }
  return TopicConnection{std::move(*connection), std::move(*topic)};
}

std::unexpected<Failure> Reconnector::give_up(Instant now) {
  tell(ConnectionState::gave_up);
  const auto seconds = std::chrono::duration<double>(now - *trying_since_).count();
  return failed(last_failure_->kind, fmt::format("gave up after {} attempt(s) in {:.1f} s: {}", failures_,
                                                 seconds, last_failure_->message));
}

void Reconnector::tell(ConnectionState state) {
  if (!on_connection_) {
    return;
  }
  ConnectionEvent event{.state = state};
  if (state != ConnectionState::connected) {
    event.failure = &*last_failure_;
  }
  if (state == ConnectionState::reconnecting) {
    event.attempt = failures_;
    event.pause = pause_;
  }
  on_connection_(event);
}

void Reconnector::progressed() {
  failures_ = 0;
  trying_since_.reset();
}

void Reconnector::cancel() {
  cancelled_ = true;
  if (candidate_ != nullptr) {
    candidate_->abort();
  }
  cancelled_event_.notify_all();
}

}  // namespace booblik::client
