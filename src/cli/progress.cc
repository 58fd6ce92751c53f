#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace booblik::cli {
namespace {

constexpr Duration kBetweenDraws = std::chrono::milliseconds(200);
constexpr int kBarWidth = 20;

struct Scale {
  double divisor;
  const char* name;
};

Scale scale_of(std::int64_t total, ProgressUnit unit) {
  if (unit == ProgressUnit::records) {
    return {1, "records"};
  }
  if (total >= 10 * 1024 * 1024) {
    return {1024.0 * 1024, "MiB"};
  }
  return {1024, "KiB"};
}

}  // namespace

std::string progress_line(std::int64_t done, std::int64_t total, Duration elapsed, ProgressUnit unit) {
  const std::int64_t shown = std::clamp<std::int64_t>(done, 0, total);
  const double part = total > 0 ? static_cast<double>(shown) / static_cast<double>(total) : 0;
  const auto filled = static_cast<std::size_t>(part * kBarWidth);
  const double seconds = std::max(std::chrono::duration<double>(elapsed).count(), 1e-9);
  const double rate = static_cast<double>(shown) / seconds;
  const Scale scale = scale_of(total, unit);
  const int digits = unit == ProgressUnit::records ? 0 : 1;
  std::string line =
      fmt::format("{:3.0f}% [{}{}] {:.{}f} of {:.{}f} {}, {:.{}f} {}/s", part * 100, std::string(filled, '#'),
                  std::string(kBarWidth - filled, '-'), static_cast<double>(shown) / scale.divisor, digits,
                  static_cast<double>(total) / scale.divisor, digits, scale.name, rate / scale.divisor,
                  digits, scale.name);
  if (rate > 0 && shown < total) {
    line += fmt::format(", {:.0f} s left", static_cast<double>(total - shown) / rate);
  }
  return line;
}

Progress::Progress(const env::Clock& clock, Terminal terminal, ProgressUnit unit, std::int64_t total)
    : clock_(clock),
      terminal_(terminal),
      unit_(unit),
      total_(total),
      shown_(terminal.interactive && total > 0),
      started_(clock.now()),
      next_draw_(started_ + kBetweenDraws) {}

void Progress::add(std::int64_t count) {
  done_ += count;
  if (!shown_) {
    return;
  }
  const Instant now = clock_.now();
  if (now < next_draw_) {
    return;
  }
  next_draw_ = now + kBetweenDraws;
  drawn_ = true;
  fmt::print(stderr, "\r{}{}{}\x1b[K", terminal_.colours ? "\x1b[36m" : "",
             progress_line(done_, total_, now - started_, unit_), terminal_.colours ? "\x1b[0m" : "");
}

Progress::~Progress() {
  if (drawn_) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

}  // namespace booblik::cli
