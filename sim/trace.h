// What a run did, for people: fibers' turns, disk and network operations as spans, faults and crashes as
// marks, all in virtual time. Off by default; whoever traces asks `enabled` before making any text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace booblik::sim {

struct TraceEvent {
  enum class Kind { mark, span };

  Kind kind = Kind::mark;
  Instant begin;
  Instant end;                // of a span
  std::string_view track;     // the fiber or the process that it belongs to
  std::string_view category;  // "fiber", "disk", "network", "fault", "process", "log"
  std::string_view what;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The views live until it returns.
  virtual void write(const TraceEvent& event) = 0;
};

class Trace {
 public:
  // `sink` may be null: then nothing is traced.
  explicit Trace(TraceSink* sink) : sink_(sink) {}

  [[nodiscard]] bool enabled() const { return sink_ != nullptr; }

  void mark(Instant at, std::string_view track, std::string_view category, std::string_view what) {
    if (sink_ != nullptr) {
      sink_->write({TraceEvent::Kind::mark, at, at, track, category, what});
    }
  }
  void span(Instant begin, Instant end, std::string_view track, std::string_view category,
            std::string_view what) {
    if (sink_ != nullptr) {
      sink_->write({TraceEvent::Kind::span, begin, end, track, category, what});
    }
  }

 private:
  TraceSink* sink_;
};

}  // namespace booblik::sim
