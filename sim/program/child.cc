#include "sim/program/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace booblik::sim {
namespace {

// A parent that is gone has nobody to tell: the child ends.
void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      ::_exit(1);
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

[[noreturn]] void run_child(const Child::Body& body, int descriptor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  body([descriptor](std::string_view line) { write_all(descriptor, std::string(line) + '\n'); });
  std::exit(0);
}

std::unexpected<Error> system_error(const char* call) {
  return fail(ErrorCode::io, fmt::format("{}: {}", call, std::strerror(errno)));
}

}  // namespace

Result<Child> Child::start(const Body& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    return system_error("pipe");
  }
  // What is buffered would be written twice.
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return system_error("fork");
  }
  if (process == 0) {
    ::close(ends[0]);
    run_child(body, ends[1]);
  }
  ::close(ends[1]);
  return Child(process, ends[0]);
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      unfinished_(std::move(other.unfinished_)) {}

Child::~Child() {
  if (process_ > 0) {
    kill();
    static_cast<void>(reap());
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

bool Child::take_lines(std::vector<std::string>& lines) {
  std::array<char, 65'536> buffer;
  const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
  if (count < 0) {
    return errno == EINTR || errno == EAGAIN;
  }
  unfinished_.append(buffer.data(), static_cast<std::size_t>(count));
  std::size_t end = 0;
  while ((end = unfinished_.find('\n')) != std::string::npos) {
    lines.push_back(unfinished_.substr(0, end));
    unfinished_.erase(0, end + 1);
  }
  return count > 0;
}

bool Child::speaks_within(double seconds) const {
  pollfd descriptor{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&descriptor, 1, static_cast<int>(std::lround(seconds * 1'000))) != 0;
}

std::string Child::reap() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (WIFSIGNALED(status)) {
    return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  return WEXITSTATUS(status) == 0 ? std::string() : fmt::format("exit code {}", WEXITSTATUS(status));
}

void Child::kill() const {
  ::kill(process_, SIGKILL);
}

}  // namespace booblik::sim
