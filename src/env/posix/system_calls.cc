#include "env/posix/system_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>

namespace booblik::env {
namespace {

SystemCalls::Value value_or_errno(std::int64_t result) {
  return result < 0 ? -std::int64_t{errno} : result;
}

SystemCalls::Value read_clock(clockid_t which) {
  timespec now{};
  if (::clock_gettime(which, &now) != 0) {
    return -std::int64_t{errno};
  }
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

SystemCalls::Value SystemCalls::open(const std::string& path, int flags, mode_t mode) {
  return value_or_errno(::open(path.c_str(), flags, mode));
}

SystemCalls::Value SystemCalls::close(int descriptor) {
  return value_or_errno(::close(descriptor));
}

SystemCalls::Value SystemCalls::preadv2(int descriptor, const iovec* parts, int count, std::int64_t position,
                                        int flags) {
  return value_or_errno(::preadv2(descriptor, parts, count, position, flags));
}

SystemCalls::Value SystemCalls::pwritev(int descriptor, const iovec* parts, int count,
                                        std::int64_t position) {
  return value_or_errno(::pwritev(descriptor, parts, count, position));
}

SystemCalls::Value SystemCalls::fdatasync(int descriptor) {
  return value_or_errno(::fdatasync(descriptor));
}

SystemCalls::Value SystemCalls::fsync(int descriptor) {
  return value_or_errno(::fsync(descriptor));
}

SystemCalls::Value SystemCalls::ftruncate(int descriptor, std::int64_t size) {
  return value_or_errno(::ftruncate(descriptor, size));
}

SystemCalls::Value SystemCalls::fstat(int descriptor, struct stat* into) {
  return value_or_errno(::fstat(descriptor, into));
}

SystemCalls::Value SystemCalls::fstatat(int directory, const char* name, struct stat* into) {
  return value_or_errno(::fstatat(directory, name, into, AT_SYMLINK_NOFOLLOW));
}

SystemCalls::Value SystemCalls::getdents(int directory, MutableBytes into) {
  return value_or_errno(::getdents64(directory, into.data(), into.size()));
}

SystemCalls::Value SystemCalls::mkdir(const std::string& path, mode_t mode) {
  return value_or_errno(::mkdir(path.c_str(), mode));
}

SystemCalls::Value SystemCalls::rename(const std::string& from, const std::string& to) {
  return value_or_errno(::rename(from.c_str(), to.c_str()));
}

SystemCalls::Value SystemCalls::unlink(const std::string& path) {
  return value_or_errno(::unlink(path.c_str()));
}

SystemCalls::Value SystemCalls::statvfs(const std::string& path, struct statvfs* into) {
  return value_or_errno(::statvfs(path.c_str(), into));
}

SystemCalls::Value SystemCalls::flock(int descriptor, int operation) {
  return value_or_errno(::flock(descriptor, operation));
}

SystemCalls::Value SystemCalls::cachestat(int descriptor, std::int64_t position, std::int64_t length,
                                          CacheStatistics* into) {
  constexpr long kCachestat = 451;  // the same number on every architecture
  struct {
    std::uint64_t offset;
    std::uint64_t length;
  } const range{static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(length)};
  return value_or_errno(::syscall(kCachestat, descriptor, &range, into, 0U));
}

SystemCalls::Value SystemCalls::fadvise(int descriptor, std::int64_t position, std::int64_t length,
                                        int advice) {
  return -std::int64_t{::posix_fadvise(descriptor, position, length, advice)};
}

SystemCalls::Value SystemCalls::socket(int family, int type) {
  return value_or_errno(::socket(family, type, 0));
}

SystemCalls::Value SystemCalls::bind(int descriptor, const sockaddr* address, socklen_t length) {
  return value_or_errno(::bind(descriptor, address, length));
}

SystemCalls::Value SystemCalls::listen(int descriptor, int backlog) {
  return value_or_errno(::listen(descriptor, backlog));
}

SystemCalls::Value SystemCalls::accept4(int descriptor, sockaddr* address, socklen_t* length, int flags) {
  return value_or_errno(::accept4(descriptor, address, length, flags));
}

SystemCalls::Value SystemCalls::connect(int descriptor, const sockaddr* address, socklen_t length) {
  return value_or_errno(::connect(descriptor, address, length));
}

SystemCalls::Value SystemCalls::getsockname(int descriptor, sockaddr* address, socklen_t* length) {
  return value_or_errno(::getsockname(descriptor, address, length));
}

SystemCalls::Value SystemCalls::getsockopt(int descriptor, int level, int name, void* value,
                                           socklen_t* length) {
  return value_or_errno(::getsockopt(descriptor, level, name, value, length));
}

SystemCalls::Value SystemCalls::setsockopt(int descriptor, int level, int name, const void* value,
                                           socklen_t length) {
  return value_or_errno(::setsockopt(descriptor, level, name, value, length));
}

SystemCalls::Value SystemCalls::recv(int descriptor, MutableBytes into, int flags) {
  return value_or_errno(::recv(descriptor, into.data(), into.size(), flags));
}

SystemCalls::Value SystemCalls::sendmsg(int descriptor, const msghdr* message, int flags) {
  return value_or_errno(::sendmsg(descriptor, message, flags));
}

SystemCalls::Value SystemCalls::sendfile(int socket, int file, std::int64_t position, std::size_t length) {
  off_t from = position;
  return value_or_errno(::sendfile(socket, file, &from, length));
}

SystemCalls::Value SystemCalls::shutdown(int descriptor, int how) {
  return value_or_errno(::shutdown(descriptor, how));
}

SystemCalls::Value SystemCalls::unsent_bytes(int descriptor) {
  int bytes = 0;
  const Value result = value_or_errno(::ioctl(descriptor, SIOCOUTQ, &bytes));
  return result < 0 ? result : bytes;
}

SystemCalls::Value SystemCalls::epoll_create() {
  return value_or_errno(::epoll_create1(EPOLL_CLOEXEC));
}

SystemCalls::Value SystemCalls::epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) {
  return value_or_errno(::epoll_ctl(epoll, operation, descriptor, event));
}

SystemCalls::Value SystemCalls::epoll_wait(int epoll, std::span<epoll_event> events, Duration timeout) {
  const int room = static_cast<int>(events.size());
  if (timeout <= Duration::zero()) {
    return value_or_errno(::epoll_wait(epoll, events.data(), room, timeout < Duration::zero() ? -1 : 0));
  }
  const std::int64_t nanoseconds = timeout.count();
  const timespec precise{static_cast<time_t>(nanoseconds / 1'000'000'000), nanoseconds % 1'000'000'000};
  const Value result = value_or_errno(::epoll_pwait2(epoll, events.data(), room, &precise, nullptr));
  if (result != -ENOSYS && result != -EPERM) {
    return result;
  }
  // Before Linux 5.11, or in a sandbox: milliseconds, rounded up so that the loop never spins up to a
  // deadline.
  const std::int64_t milliseconds =
      std::min<std::int64_t>(nanoseconds / 1'000'000 + 1, std::numeric_limits<int>::max());
  return value_or_errno(::epoll_wait(epoll, events.data(), room, static_cast<int>(milliseconds)));
}

SystemCalls::Value SystemCalls::eventfd() {
  return value_or_errno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

SystemCalls::Value SystemCalls::signalfd(const sigset_t& signals) {
  return value_or_errno(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

SystemCalls::Value SystemCalls::poll_writable(int descriptor) {
  pollfd wanted{descriptor, POLLOUT, 0};
  return value_or_errno(::poll(&wanted, 1, 0));
}

SystemCalls::Value SystemCalls::read(int descriptor, MutableBytes into) {
  return value_or_errno(::read(descriptor, into.data(), into.size()));
}

SystemCalls::Value SystemCalls::write(int descriptor, Bytes from) {
  return value_or_errno(::write(descriptor, from.data(), from.size()));
}

SystemCalls::Value SystemCalls::monotonic_nanoseconds() {
  return read_clock(CLOCK_MONOTONIC);
}

SystemCalls::Value SystemCalls::wall_nanoseconds() {
  return read_clock(CLOCK_REALTIME);
}

SystemCalls::Value SystemCalls::random_bytes(MutableBytes into) {
  return value_or_errno(::getrandom(into.data(), into.size(), 0));
}

SystemCalls::Value SystemCalls::process_id() {
  return ::getpid();
}

SystemCalls::Value SystemCalls::get_descriptor_limit(rlimit* into) {
  return value_or_errno(::getrlimit(RLIMIT_NOFILE, into));
}

SystemCalls::Value SystemCalls::set_descriptor_limit(const rlimit& limit) {
  return value_or_errno(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace booblik::env
