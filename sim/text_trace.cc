#include "sim/text_trace.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "sim/process_heap.h"

namespace booblik::sim {

void TextTrace::write(const TraceEvent& event) {
  const HeapScope world(nullptr);
  const auto microseconds = [](Instant at) {
    return std::chrono::duration_cast<std::chrono::microseconds>(at.since_start()).count();
  };
  std::string line = fmt::format("{:>12} us  {:<8} {:<20} {}", microseconds(event.begin), event.category,
                                 event.track, event.what);
  if (event.kind == TraceEvent::Kind::span) {
    line += fmt::format(" ({} us)", microseconds(event.end) - microseconds(event.begin));
  }
  line += '\n';
  std::fputs(line.c_str(), stdout);
}

}  // namespace booblik::sim
