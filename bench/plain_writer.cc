// What a program without a broker sees: `plain_writer FILE written|forced RATE SECONDS`, the control of
// bench/isolation.py. It appends what one record of 128 B takes on disk, RATE times a second, open loop:
// latency counts from when a write was due. `forced` makes one fdatasync for all writes that are due. Prints
// JSON.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRecordOnDiskBytes = 136;

// False when a call fails.
bool run(int file, bool forced, double rate, double seconds, std::vector<double>& latencies_us) {
  const std::array<char, kRecordOnDiskBytes> record{};
  const auto period = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / rate));
  const auto writes = static_cast<std::size_t>(rate * seconds);
  const Clock::time_point begin = Clock::now();
  const auto due = [&](std::size_t write) { return begin + period * static_cast<Clock::rep>(write); };
  for (std::size_t done = 0; done < writes;) {
    std::this_thread::sleep_until(due(done));
    std::size_t written = done;
    do {
      const auto at = static_cast<off_t>(written * record.size());
      if (::pwrite(file, record.data(), record.size(), at) != static_cast<ssize_t>(record.size())) {
        return false;
      }
      ++written;
      if (!forced) {
        latencies_us.push_back(
            std::chrono::duration<double, std::micro>(Clock::now() - due(written - 1)).count());
      }
    } while (written < writes && due(written) <= Clock::now());
    if (forced && ::fdatasync(file) != 0) {
      return false;
    }
    for (; forced && done < written; ++done) {
      latencies_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - due(done)).count());
    }
    done = written;
  }
  return true;
}

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::atof(argv[3]) <= 0 || std::atof(argv[4]) <= 0) {
    std::fprintf(stderr, "usage: plain_writer FILE written|forced RATE SECONDS\n");
    return 2;
  }
  const int file = ::open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  std::vector<double> latencies_us;
  const bool forced = std::string_view(argv[2]) == "forced";
  if (file < 0 || !run(file, forced, std::atof(argv[3]), std::atof(argv[4]), latencies_us) ||
      latencies_us.empty()) {
    std::perror("plain_writer");
    return 1;
  }
  std::ranges::sort(latencies_us);
  std::printf("{\"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f}\n", quantile(latencies_us, 0.5),
              quantile(latencies_us, 0.99), quantile(latencies_us, 0.999));
  return 0;
}
