#include "broker/session.h"

#include <utility>

#include "broker/request_reader.h"
#include "broker/responder.h"

namespace booblik::broker {

Session::Session(Context& context, std::unique_ptr<env::Connection> connection)
    : state_(context, std::move(connection)) {
  state_.connection->on_reset([this] {
    state_.broken = true;
    state_.changed.notify_all();
  });
}

Session::~Session() {
  state_.connection->on_reset({});
}

void Session::run() {
  state_.context.scheduler.spawn("responder " + state_.connection->peer(), [this] { respond(); });
  RequestReader reader(state_);
  reader.run();
  state_.requests_done = true;
  state_.changed.notify_all();
  reader.discard_rest();
  state_.reader_done = true;
  state_.changed.notify_all();
  while (!state_.responder_done) {
    state_.changed.wait(Deadline::never());
  }
}

void Session::respond() {
  Responder(state_).run();
  if (!state_.broken) {
    state_.connection->shutdown_send();
    state_.discarding = true;  // wakes a reader that waits for room
    state_.changed.notify_all();
    const Deadline linger = state_.context.after(state_.shutting_down ? kLingerAtShutdown : kLinger);
    while (!state_.reader_done && state_.changed.wait(linger) != env::Wake::deadline) {
    }
  }
  // Ends a reader that still waits for a peer that says nothing.
  state_.connection->stop_receiving();
  state_.responder_done = true;
  state_.changed.notify_all();
}

void Session::shut_down() {
  state_.shutting_down = true;
  // The reader may be waiting in receive for a request that it must not take any more; the responder ends the
  // session when the answers are out.
  state_.requests_done = true;
  state_.changed.notify_all();
}

void Session::abort() {
  state_.break_off();
}

}  // namespace booblik::broker
