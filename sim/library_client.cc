#include "sim/library_client.h"

#include <fmt/format.h>

namespace booblik::sim {

LibraryClient::LibraryClient(Workload& workload, std::uint64_t number)
    : workload_(workload),
      environment_(workload.world.outside_environment()),
      random_(random_stream(number, "library client")),
      network_(environment_.network, workload.model),
      roles_{environment_.scheduler, environment_.clock, network_, random_} {}

void LibraryClient::pause(std::int64_t mean_millis) {
  const std::int64_t nanoseconds = 2 * mean_millis * 1'000'000;
  workload_.world.scheduler().sleep(Duration(between(random_, 0, nanoseconds)), "thinking");
}

client::ReconnectOptions LibraryClient::draw_reconnect() {
  return {.enabled = !random_.one_in(8),
          .pause_first = std::chrono::milliseconds(between(random_, 1, 200)),
          .pause_max = std::chrono::milliseconds(between(random_, 200, 2'000)),
          .give_up_after = std::chrono::milliseconds(between(random_, 100, 20'000))};
}

client::OnConnection LibraryClient::watch_connection() {
  return [this](const client::ConnectionEvent& event) {
    workload_.model.count(event.state == client::ConnectionState::connected      ? "library reconnected"
                          : event.state == client::ConnectionState::reconnecting ? "library loss"
                                                                                 : "library gave up");
    if (event.failure != nullptr && workload_.undisturbed() && !workload_.stop_requested &&
        !workload_.ended()) {
      violate(fmt::format("an undisturbed connection of the library failed: {}", event.failure->message));
    }
  };
}

void LibraryClient::violate(const std::string& text) {
  workload_.model.violate("library: " + text);
}

}  // namespace booblik::sim
