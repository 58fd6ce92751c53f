#include "sim/program/json_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/process_heap.h"

namespace booblik::sim {
namespace {

// A turn takes this much; what a fiber waits for begins behind the turn that asked for it, so that the slices
// of a track never overlap.
constexpr std::int64_t kTurnNanoseconds = 1'000;

std::string in_quotes(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::int64_t nanoseconds(Instant at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.since_start()).count();
}

std::string microseconds(std::int64_t count) {
  return fmt::format("{}.{:03}", count / 1'000, count % 1'000);
}

// Over the whole picture: what changes everybody's life.
bool is_for_all(std::string_view category) {
  return category == "process";
}

}  // namespace

JsonTrace::JsonTrace(WriteText write) : write_(std::move(write)) {
  write_("[\n");
}

JsonTrace::~JsonTrace() {
  write_("]\n");
}

void JsonTrace::put(const std::string& object) {
  write_((first_ ? "" : ",") + object + "\n");
  first_ = false;
}

void JsonTrace::name_track(const TraceTrack& track) {
  if (processes_.insert(track.process).second) {
    const std::string name = track.process == 0 ? "world" : fmt::format("broker, life {}", track.process);
    put(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", track.process,
                    in_quotes(name)));
  }
  if (fibers_.insert({track.process, track.fiber}).second) {
    const std::string name = track.fiber == 0 ? "marks" : fmt::format("{} {}", track.name, track.fiber);
    put(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                    track.process, track.fiber, in_quotes(name)));
  }
}

void JsonTrace::write(const TraceEvent& event) {
  const HeapScope world(nullptr);
  name_track(event.track);
  const std::string common =
      fmt::format(R"("name":{},"cat":{},"pid":{},"tid":{},"args":{{"event":{}}})", in_quotes(event.what),
                  in_quotes(event.category), event.track.process, event.track.fiber, event.event);
  std::int64_t begin = nanoseconds(event.begin);
  if (event.kind == TraceEvent::Kind::mark) {
    return put(fmt::format(R"({{"ph":"i","s":"{}","ts":{},{}}})", is_for_all(event.category) ? "g" : "t",
                           microseconds(begin), common));
  }
  const std::int64_t end = nanoseconds(event.end);
  if (event.category != "fiber") {
    begin = std::min(begin + kTurnNanoseconds, end);
  }
  put(fmt::format(R"({{"ph":"X","ts":{},"dur":{},{}}})", microseconds(begin), microseconds(end - begin),
                  common));
}

}  // namespace booblik::sim
