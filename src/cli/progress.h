// A bar on standard error for a transfer of known size.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "cli/terminal.h"
#include "env/clock.h"

namespace booblik::cli {

enum class ProgressUnit { bytes, records };

// " 45% [#########-----------] 123.0 of 270.0 MiB, 12.3 MiB/s, 12 s left"
[[nodiscard]] std::string progress_line(std::int64_t done, std::int64_t total, Duration elapsed,
                                        ProgressUnit unit);

class Progress {
 public:
  // Draws nothing unless the terminal is interactive and `total` is positive.
  Progress(const env::Clock& clock, Terminal terminal, ProgressUnit unit, std::int64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Takes the bar away.
  ~Progress();

  [[nodiscard]] bool shown() const { return shown_; }
  // So much more is done. Draws a few times in a second at most; call it for blocks, not for records.
  void add(std::int64_t count);

 private:
  const env::Clock& clock_;
  Terminal terminal_;
  ProgressUnit unit_;
  std::int64_t total_;
  bool shown_;
  std::int64_t done_ = 0;
  Instant started_;
  Instant next_draw_;
  bool drawn_ = false;
};

}  // namespace booblik::cli
