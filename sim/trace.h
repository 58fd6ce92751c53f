// What a run did, for people: fibers' turns, disk and network operations as spans, faults, probes and crashes
// as marks, all in virtual time. Off by default; whoever traces asks `enabled` before making any text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "sim/fingerprint.h"

namespace booblik::sim {

// Whose doing it is. Two fibers never share a number, also of different lives.
struct TraceTrack {
  std::uint32_t process = 0;  // 0: the world outside of all machines
  std::uint64_t fiber = 0;    // 0: no fiber; the name is the process's, or the machine's
  std::string_view name;
};

struct TraceEvent {
  enum class Kind { mark, span };

  Kind kind = Kind::mark;
  Instant begin;
  Instant end;  // of a span
  TraceTrack track;
  std::string_view category;  // "fiber", "disk", "network", "cut off", "fault", "probe", "process", "log"
  std::string_view what;
  std::uint64_t event = 0;  // how many events the fingerprint had seen
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The views live until it returns. A span comes when it has ended.
  virtual void write(const TraceEvent& event) = 0;
};

class Trace {
 public:
  // `sink` may be null: then nothing is traced.
  Trace(TraceSink* sink, const Fingerprint& fingerprint) : sink_(sink), fingerprint_(fingerprint) {}

  [[nodiscard]] bool enabled() const { return sink_ != nullptr; }

  void mark(Instant at, const TraceTrack& track, std::string_view category, std::string_view what) {
    if (sink_ != nullptr) {
      sink_->write({TraceEvent::Kind::mark, at, at, track, category, what, fingerprint_.events()});
    }
  }
  void span(Instant begin, Instant end, const TraceTrack& track, std::string_view category,
            std::string_view what) {
    if (sink_ != nullptr) {
      sink_->write({TraceEvent::Kind::span, begin, end, track, category, what, fingerprint_.events()});
    }
  }

 private:
  TraceSink* sink_;
  const Fingerprint& fingerprint_;
};

}  // namespace booblik::sim
