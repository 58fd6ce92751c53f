#include "env/posix/logger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <regex>
#include <string>

#include "env/posix/clock.h"
#include "env/posix/descriptor.h"
#include "env/posix/signals.h"

namespace booblik::env {
namespace {

// The wall clock stands still.
class FixedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return Instant(); }
  [[nodiscard]] WallTime wall() const override { return WallTime(1'796'006'530'123); }
};

class LoggerTest : public ::testing::Test {
 protected:
  LoggerTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader_ = Descriptor(system_, ends[0]);
    writer_ = Descriptor(system_, ends[1]);
  }

  // What is in the pipe now.
  std::string read() {
    std::string text;
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    std::array<char, 8192> buffer;
    for (;;) {
      const ssize_t bytes = ::read(reader_.get(), buffer.data(), buffer.size());
      if (bytes <= 0) {
        return text;
      }
      text.append(buffer.data(), static_cast<std::size_t>(bytes));
    }
  }

  SystemCalls system_;
  FixedClock clock_;
  Descriptor reader_;
  Descriptor writer_;
};

TEST_F(LoggerTest, ALineHasTimeAndLevel) {
  PosixLogger logger(system_, clock_, writer_.get());
  logger.write(Level::info, "started");
  logger.write(Level::warning, "slow");
  logger.write(Level::error, "broken");
  EXPECT_EQ(read(),
            "2026-11-30T02:42:10.123Z INFO started\n"
            "2026-11-30T02:42:10.123Z WARNING slow\n"
            "2026-11-30T02:42:10.123Z ERROR broken\n");
}

TEST_F(LoggerTest, ALineStaysOneLineAndIsBounded) {
  PosixLogger logger(system_, clock_, writer_.get());
  logger.write(Level::info, "a\nb\r\x1b[31m");
  EXPECT_EQ(read(), "2026-11-30T02:42:10.123Z INFO a?b??[31m\n");
  logger.write(Level::info, std::string(100'000, 'x'));
  const std::string cut = read();
  EXPECT_EQ(cut.size(), PosixLogger::kLineBytesMax);
  EXPECT_EQ(cut.back(), '\n');
}

TEST_F(LoggerTest, AFullPipeBlocksNobodyAndTheLossIsReported) {
  PosixLogger logger(system_, clock_, writer_.get());
  const std::string line(1000, 'x');
  for (int index = 0; index < 500; ++index) {
    logger.write(Level::info, line);  // blocks for ever if it may
  }
  const std::string first = read();
  EXPECT_LT(first.size(), 500'000U);
  logger.write(Level::info, "after");
  const std::string text = read();
  std::smatch match;
  ASSERT_TRUE(std::regex_search(text, match, std::regex("WARNING (\\d+) lines"))) << text;
  const auto written = static_cast<std::size_t>(std::count(first.begin(), first.end(), '\n'));
  EXPECT_EQ(written + std::stoul(match[1]), 500U);
  EXPECT_NE(text.find("after"), std::string::npos);
}

TEST_F(LoggerTest, AClosedPipeIsIgnored) {
  ignore_broken_pipes();
  PosixLogger logger(system_, clock_, writer_.get());
  reader_.reset();
  logger.write(Level::info, "nobody listens");
  logger.write(Level::info, "and that is fine");
}

}  // namespace
}  // namespace booblik::env
