// A trace in the trace-event format of Chrome, which ui.perfetto.dev and chrome://tracing show: processes and
// fibers as tracks, operations as slices, faults, crashes and restarts as instant marks; microseconds of
// virtual time. Format: "Trace Event Format", the JSON array form, whose closing bracket may be missing.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "sim/program/text_trace.h"
#include "sim/trace.h"

namespace booblik::sim {

class JsonTrace final : public TraceSink {
 public:
  explicit JsonTrace(WriteText write);
  JsonTrace(const JsonTrace&) = delete;
  JsonTrace& operator=(const JsonTrace&) = delete;
  // Ends the array.
  ~JsonTrace() override;

  void write(const TraceEvent& event) override;

 private:
  void name_track(const TraceTrack& track);
  void put(const std::string& object);

  WriteText write_;
  bool first_ = true;
  std::set<std::uint32_t> processes_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> fibers_;
};

}  // namespace booblik::sim
