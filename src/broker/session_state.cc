#include "broker/session_state.h"

#include <fmt/format.h>

namespace booblik::broker {

void SessionState::cut(std::string_view kind, std::string_view why) {
  if (cut_reported_) {
    return;
  }
  cut_reported_ = true;
  ++context.metrics.connections_cut;
  context.log.warn(kind, fmt::format("closed {}: {}", connection->peer(), why));
}

}  // namespace booblik::broker
