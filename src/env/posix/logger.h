// Lines on standard error.
#pragma once

#include <cstdint>

#include "env/clock.h"
#include "env/logger.h"
#include "env/posix/system_calls.h"

namespace booblik::env {

// "2026-11-30T02:42:10.123Z WARNING what happened". A reader that has stopped reading (a full pipe) must not
// stop the broker: a line that would block is dropped, and the next line that fits says how many were. A
// closed pipe is ignored. Control characters become '?', so that a line stays a line; one longer than
// kLineBytesMax is cut.
class PosixLogger final : public Logger {
 public:
  // A pipe that poll reports as writable takes this much without blocking (PIPE_BUF, pipe(7)).
  static constexpr std::size_t kLineBytesMax = 4096;

  PosixLogger(SystemCalls& system, Clock& clock, int descriptor)
      : system_(system), clock_(clock), descriptor_(descriptor) {}

  void write(Level level, std::string_view line) override;

 private:
  // False: it would have blocked, nothing was written.
  [[nodiscard]] bool write_line(Level level, std::string_view line);

  SystemCalls& system_;
  Clock& clock_;
  int descriptor_;
  std::uint64_t dropped_ = 0;
};

}  // namespace booblik::env
