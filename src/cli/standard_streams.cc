#include "cli/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
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

Result<bool> StandardOutput::flush() {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EPIPE) {
      return false;
    } else if (errno == EAGAIN) {  // somebody else has made the shared terminal non-blocking
      pollfd query{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&query, 1, -1);
    } else if (errno != EINTR) {
      return fail(ErrorCode::io, fmt::format("cannot write the output: {}", std::strerror(errno)));
    }
  }
  text_.clear();
  return true;
}

Result<bool> StandardOutput::flush_if_full() {
  if (text_.size() < kBlock) {
    return true;
  }
  return flush();
}

}  // namespace booblik::cli
