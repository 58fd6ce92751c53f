#include "cli/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <utility>

namespace booblik::cli {
namespace {

constexpr std::size_t kBlock = 256 * 1024;

// A read would return at once: bytes, the end, or an error.
bool is_readable(int descriptor) {
  pollfd query{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&query, 1, 0) != 0;
}

}  // namespace

std::unique_ptr<InputFile> InputFile::standard_input(env::Reactor& reactor) {
  return std::make_unique<InputFile>(reactor, STDIN_FILENO, env::Descriptor());
}

Result<std::unique_ptr<InputFile>> InputFile::open(env::Reactor& reactor, env::SystemCalls& system,
                                                   const std::string& path) {
  const std::int64_t opened = system.open(path, O_RDONLY | O_CLOEXEC, 0);
  if (opened < 0) {
    return fail(opened == -ENOENT ? ErrorCode::not_found : ErrorCode::io,
                fmt::format("cannot open {}: {}", path, std::strerror(static_cast<int>(-opened))));
  }
  const int descriptor = static_cast<int>(opened);
  return std::make_unique<InputFile>(reactor, descriptor, env::Descriptor(system, descriptor));
}

InputFile::InputFile(env::Reactor& reactor, int descriptor, env::Descriptor owned)
    : reactor_(reactor), descriptor_(descriptor), owned_(std::move(owned)), readable_(reactor) {
  if (const auto watch = reactor_.watch(descriptor_, *this)) {
    watch_ = *watch;
  }
}

InputFile::~InputFile() {
  if (watch_.value != 0) {
    reactor_.unwatch(watch_);
  }
}

Result<std::size_t> InputFile::read(MutableBytes buffer) {
  // Standard input is left in blocking mode, since it may be shared with a shell; so it is only read when
  // that cannot block.
  while (watch_.value != 0 && !stopped_ && !is_readable(descriptor_)) {
    readable_.wait(Deadline::never());
  }
  while (!stopped_) {
    const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
    if (count >= 0) {
      return static_cast<std::size_t>(count);
    }
    if (errno != EINTR) {
      return fail(ErrorCode::io, fmt::format("cannot read the input: {}", std::strerror(errno)));
    }
  }
  return std::size_t{0};
}

void InputFile::stop() {
  stopped_ = true;
  readable_.notify_all();
}

void InputFile::on_ready(std::uint32_t) {
  readable_.notify_all();
}

std::optional<std::int64_t> InputFile::size() const {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return status.st_size;
}

// The descriptor that a shell gave stays in blocking mode, since others may share it. A pipe is opened again,
// which makes an open file of its own.
StandardOutput::StandardOutput(env::Reactor& reactor, env::SystemCalls& system, const env::Clock& clock)
    : reactor_(reactor), clock_(clock), descriptor_(STDOUT_FILENO), writable_(reactor), turn_(reactor) {
  struct stat status{};
  if (::fstat(STDOUT_FILENO, &status) == 0 && S_ISFIFO(status.st_mode)) {
    const std::int64_t opened = system.open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (opened >= 0) {
      descriptor_ = static_cast<int>(opened);
      own_ = env::Descriptor(system, descriptor_);
    }
  }
  if (const auto watch = reactor_.watch(descriptor_, *this)) {
    watch_ = *watch;
  } else {
    descriptor_ = STDOUT_FILENO;
    own_.reset();
  }
}

StandardOutput::~StandardOutput() {
  if (watch_.value != 0) {
    reactor_.unwatch(watch_);
  }
}

bool StandardOutput::is_full() const {
  return text_.size() >= kBlock;
}

Result<bool> StandardOutput::flush() {
  while (flushing_) {
    turn_.wait(Deadline::never());
  }
  flushing_ = true;
  writing_.swap(text_);
  auto written = gone_ ? Result<bool>(false) : write_all(writing_);
  gone_ = gone_ || !written || !*written;
  writing_.clear();
  flushing_ = false;
  turn_.notify_all();
  return written;
}

Result<bool> StandardOutput::write_all(std::string_view rest) {
  while (!rest.empty()) {
    if (!wait_writable()) {
      return false;
    }
    // In blocking mode, what poll calls writable takes PIPE_BUF bytes at once.
    const bool may_block = watch_.value != 0 && !own_.open();
    const std::size_t block = may_block ? std::min<std::size_t>(rest.size(), PIPE_BUF) : rest.size();
    const ssize_t count = ::write(descriptor_, rest.data(), block);
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR && errno != EAGAIN) {
      return fail(ErrorCode::io, fmt::format("cannot write the output: {}", std::strerror(errno)));
    }
  }
  return true;
}

// False when the reader was given time enough.
bool StandardOutput::wait_writable() {
  while (watch_.value != 0) {
    pollfd query{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    if (::poll(&query, 1, 0) != 0) {
      return true;
    }
    if (until_.passed(clock_.now())) {
      return false;
    }
    writable_.wait(until_);
  }
  return true;
}

void StandardOutput::hurry() {
  until_ = std::min(until_, Deadline(clock_.now() + std::chrono::seconds(1)));
  writable_.notify_all();
}

void StandardOutput::on_ready(std::uint32_t) {
  writable_.notify_all();
}

}  // namespace booblik::cli
