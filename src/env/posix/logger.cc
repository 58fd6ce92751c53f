#include "env/posix/logger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::info:
      return "INFO";
    case Level::warning:
      return "WARNING";
    case Level::error:
      return "ERROR";
  }
  return "";
}

std::string utc(WallTime time) {
  const std::chrono::sys_time<std::chrono::milliseconds> instant{
      std::chrono::milliseconds(time.milliseconds())};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(instant - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace

void PosixLogger::write(Level level, std::string_view line) {
  if (dropped_ > 0) {
    const std::string notice =
        fmt::format("{} lines before this one were dropped: nobody read them", dropped_);
    if (!write_line(Level::warning, notice)) {
      ++dropped_;
      return;
    }
    dropped_ = 0;
  }
  if (!write_line(level, line)) {
    ++dropped_;
  }
}

bool PosixLogger::write_line(Level level, std::string_view line) {
  std::string text = fmt::format("{} {} ", utc(clock_.wall()), name_of(level));
  text += line.substr(0, kLineBytesMax - text.size() - 1);
  std::replace_if(
      text.begin(), text.end(), [](char character) { return static_cast<unsigned char>(character) < 0x20; },
      '?');
  text += '\n';
  if (system_.poll_writable(descriptor_) == 0) {
    return false;
  }
  return uninterrupted([&] { return system_.write(descriptor_, as_bytes(text)); }) != -EAGAIN;
}

}  // namespace booblik::env
