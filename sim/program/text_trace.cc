#include "sim/program/text_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/process_heap.h"

namespace booblik::sim {

void TextTrace::write(const TraceEvent& event) {
  const HeapScope world(nullptr);
  const auto microseconds = [](Instant at) {
    return std::chrono::duration_cast<std::chrono::microseconds>(at.since_start()).count();
  };
  const std::string who = event.track.fiber == 0 ? std::string(event.track.name)
                                                 : fmt::format("{} {}", event.track.name, event.track.fiber);
  std::string line = fmt::format("{:>12} us  #{:<7} {:<8} {:<24} {}", microseconds(event.begin), event.event,
                                 event.category, who, event.what);
  if (event.kind == TraceEvent::Kind::span) {
    line += fmt::format(" ({} us)", microseconds(event.end) - microseconds(event.begin));
  }
  // A line an event, whatever a log line holds.
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  write_(line);
}

}  // namespace booblik::sim
