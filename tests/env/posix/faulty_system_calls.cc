#include "posix/faulty_system_calls.h"

#include <algorithm>

namespace booblik::env {
namespace {

// The front of the parts, `max_bytes` long.
std::vector<iovec> cut(std::span<const iovec> parts, std::size_t max_bytes) {
  std::vector<iovec> front;
  for (const iovec& part : parts) {
    const std::size_t length = std::min(part.iov_len, max_bytes);
    front.push_back(iovec{part.iov_base, length});
    max_bytes -= length;
    if (length < part.iov_len) {
      break;
    }
  }
  return front;
}

}  // namespace

void FaultySystemCalls::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(fault);
}

void FaultySystemCalls::heal() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::int64_t FaultySystemCalls::count(Call call) const {
  const std::lock_guard lock(mutex_);
  return counts_[static_cast<std::size_t>(call)];
}

std::size_t FaultySystemCalls::place_of(Call call, const void* caller) {
  const auto index = static_cast<std::size_t>(call);
  std::vector<const void*>& places = places_[index];
  auto place = std::ranges::find(places, caller);
  if (place == places.end()) {
    place = places.insert(place, caller);
    if (places_seen != nullptr) {
      (*places_seen)[index] = places.size();
    }
  }
  return static_cast<std::size_t>(place - places.begin()) + 1;
}

FaultySystemCalls::Outcome FaultySystemCalls::next(Call call, const void* caller) {
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<std::size_t>(call)];
  const std::size_t place = place_of(call, caller);
  Outcome outcome;
  for (Fault& fault : faults_) {
    if (fault.call != call || fault.times <= 0 || (fault.place != 0 && fault.place != place)) {
      continue;
    }
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    fault.skip = fault.every - 1;
    --fault.times;
    if (fault.result != 0) {
      outcome.instead = fault.result;
      return outcome;
    }
    outcome.max_bytes = std::min(outcome.max_bytes, fault.max_bytes);
  }
  return outcome;
}

SystemCalls::Value FaultySystemCalls::open(const std::string& path, int flags, mode_t mode) {
  const Outcome outcome = next(Call::open, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::open(path, flags, mode);
}

SystemCalls::Value FaultySystemCalls::preadv2(int descriptor, const iovec* parts, int count,
                                              std::int64_t position, int flags) {
  if (before_disk_call) {
    before_disk_call(Call::preadv2, flags);
  }
  const Outcome outcome = next(Call::preadv2, __builtin_return_address(0));
  if (outcome.instead) {
    return *outcome.instead;
  }
  const std::vector<iovec> front = cut(std::span(parts, static_cast<std::size_t>(count)), outcome.max_bytes);
  return SystemCalls::preadv2(descriptor, front.data(), static_cast<int>(front.size()), position, flags);
}

SystemCalls::Value FaultySystemCalls::pwritev(int descriptor, const iovec* parts, int count,
                                              std::int64_t position) {
  const Outcome outcome = next(Call::pwritev, __builtin_return_address(0));
  if (outcome.instead) {
    return *outcome.instead;
  }
  const std::vector<iovec> front = cut(std::span(parts, static_cast<std::size_t>(count)), outcome.max_bytes);
  return SystemCalls::pwritev(descriptor, front.data(), static_cast<int>(front.size()), position);
}

SystemCalls::Value FaultySystemCalls::fdatasync(int descriptor) {
  if (before_disk_call) {
    before_disk_call(Call::fdatasync, 0);
  }
  const Outcome outcome = next(Call::fdatasync, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::fdatasync(descriptor);
}

SystemCalls::Value FaultySystemCalls::fsync(int descriptor) {
  const Outcome outcome = next(Call::fsync, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::fsync(descriptor);
}

SystemCalls::Value FaultySystemCalls::ftruncate(int descriptor, std::int64_t size) {
  const Outcome outcome = next(Call::ftruncate, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::ftruncate(descriptor, size);
}

SystemCalls::Value FaultySystemCalls::getdents(int directory, MutableBytes into) {
  const Outcome outcome = next(Call::getdents, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::getdents(directory, into);
}

SystemCalls::Value FaultySystemCalls::mkdir(const std::string& path, mode_t mode) {
  const Outcome outcome = next(Call::mkdir, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::mkdir(path, mode);
}

SystemCalls::Value FaultySystemCalls::rename(const std::string& from, const std::string& to) {
  const Outcome outcome = next(Call::rename, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::rename(from, to);
}

SystemCalls::Value FaultySystemCalls::unlink(const std::string& path) {
  const Outcome outcome = next(Call::unlink, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::unlink(path);
}

SystemCalls::Value FaultySystemCalls::flock(int descriptor, int operation) {
  const Outcome outcome = next(Call::flock, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::flock(descriptor, operation);
}

SystemCalls::Value FaultySystemCalls::cachestat(int descriptor, std::int64_t position, std::int64_t length,
                                                CacheStatistics* into) {
  const Outcome outcome = next(Call::cachestat, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::cachestat(descriptor, position, length, into);
}

SystemCalls::Value FaultySystemCalls::fadvise(int descriptor, std::int64_t position, std::int64_t length,
                                              int advice) {
  const Outcome outcome = next(Call::fadvise, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::fadvise(descriptor, position, length, advice);
}

SystemCalls::Value FaultySystemCalls::socket(int family, int type) {
  const Outcome outcome = next(Call::socket, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::socket(family, type);
}

SystemCalls::Value FaultySystemCalls::accept4(int descriptor, sockaddr* address, socklen_t* length,
                                              int flags) {
  const Outcome outcome = next(Call::accept4, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::accept4(descriptor, address, length, flags);
}

SystemCalls::Value FaultySystemCalls::connect(int descriptor, const sockaddr* address, socklen_t length) {
  const Outcome outcome = next(Call::connect, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::connect(descriptor, address, length);
}

SystemCalls::Value FaultySystemCalls::recv(int descriptor, MutableBytes into, int flags) {
  const Outcome outcome = next(Call::recv, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::recv(descriptor, into, flags);
}

SystemCalls::Value FaultySystemCalls::sendmsg(int descriptor, const msghdr* message, int flags) {
  const Outcome outcome = next(Call::sendmsg, __builtin_return_address(0));
  if (outcome.instead) {
    return *outcome.instead;
  }
  std::vector<iovec> front = cut(std::span(message->msg_iov, message->msg_iovlen), outcome.max_bytes);
  msghdr shorter{};
  shorter.msg_iov = front.data();
  shorter.msg_iovlen = front.size();
  return SystemCalls::sendmsg(descriptor, &shorter, flags);
}

SystemCalls::Value FaultySystemCalls::sendfile(int socket, int file, std::int64_t position,
                                               std::size_t length) {
  const Outcome outcome = next(Call::sendfile, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead
                         : SystemCalls::sendfile(socket, file, position, std::min(length, outcome.max_bytes));
}

SystemCalls::Value FaultySystemCalls::epoll_wait(int epoll, std::span<epoll_event> events, Duration timeout) {
  const Outcome outcome = next(Call::epoll_wait, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::epoll_wait(epoll, events, timeout);
}

SystemCalls::Value FaultySystemCalls::write(int descriptor, Bytes from) {
  const Outcome outcome = next(Call::write, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::write(descriptor, from);
}

SystemCalls::Value FaultySystemCalls::get_descriptor_limit(rlimit* into) {
  if (const Outcome outcome = next(Call::get_descriptor_limit, __builtin_return_address(0));
      outcome.instead) {
    return *outcome.instead;
  }
  const Value result = SystemCalls::get_descriptor_limit(into);
  if (pretended_limit_) {
    into->rlim_cur = static_cast<rlim_t>(*pretended_limit_);
  }
  return result;
}

SystemCalls::Value FaultySystemCalls::close(int descriptor) {
  const Outcome outcome = next(Call::close, __builtin_return_address(0));
  const Value result = SystemCalls::close(descriptor);  // Linux frees the descriptor whatever it answers
  return outcome.instead ? *outcome.instead : result;
}

SystemCalls::Value FaultySystemCalls::fstat(int descriptor, struct stat* into) {
  const Outcome outcome = next(Call::fstat, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::fstat(descriptor, into);
}

SystemCalls::Value FaultySystemCalls::fstatat(int directory, const char* name, struct stat* into) {
  const Outcome outcome = next(Call::fstatat, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::fstatat(directory, name, into);
}

SystemCalls::Value FaultySystemCalls::statvfs(const std::string& path, struct statvfs* into) {
  const Outcome outcome = next(Call::statvfs, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::statvfs(path, into);
}

SystemCalls::Value FaultySystemCalls::bind(int descriptor, const sockaddr* address, socklen_t length) {
  const Outcome outcome = next(Call::bind, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::bind(descriptor, address, length);
}

SystemCalls::Value FaultySystemCalls::listen(int descriptor, int backlog) {
  const Outcome outcome = next(Call::listen, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::listen(descriptor, backlog);
}

SystemCalls::Value FaultySystemCalls::getsockname(int descriptor, sockaddr* address, socklen_t* length) {
  const Outcome outcome = next(Call::getsockname, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::getsockname(descriptor, address, length);
}

SystemCalls::Value FaultySystemCalls::getsockopt(int descriptor, int level, int name, void* value,
                                                 socklen_t* length) {
  const Outcome outcome = next(Call::getsockopt, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::getsockopt(descriptor, level, name, value, length);
}

SystemCalls::Value FaultySystemCalls::setsockopt(int descriptor, int level, int name, const void* value,
                                                 socklen_t length) {
  const Outcome outcome = next(Call::setsockopt, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::setsockopt(descriptor, level, name, value, length);
}

SystemCalls::Value FaultySystemCalls::shutdown(int descriptor, int how) {
  const Outcome outcome = next(Call::shutdown, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::shutdown(descriptor, how);
}

SystemCalls::Value FaultySystemCalls::unsent_bytes(int descriptor) {
  const Outcome outcome = next(Call::unsent_bytes, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::unsent_bytes(descriptor);
}

SystemCalls::Value FaultySystemCalls::epoll_create() {
  const Outcome outcome = next(Call::epoll_create, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::epoll_create();
}

SystemCalls::Value FaultySystemCalls::epoll_ctl(int epoll, int operation, int descriptor,
                                                epoll_event* event) {
  const Outcome outcome = next(Call::epoll_ctl, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::epoll_ctl(epoll, operation, descriptor, event);
}

SystemCalls::Value FaultySystemCalls::eventfd() {
  const Outcome outcome = next(Call::eventfd, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::eventfd();
}

SystemCalls::Value FaultySystemCalls::signalfd(const sigset_t& signals) {
  const Outcome outcome = next(Call::signalfd, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::signalfd(signals);
}

SystemCalls::Value FaultySystemCalls::poll_writable(int descriptor) {
  const Outcome outcome = next(Call::poll_writable, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::poll_writable(descriptor);
}

SystemCalls::Value FaultySystemCalls::read(int descriptor, MutableBytes into) {
  const Outcome outcome = next(Call::read, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::read(descriptor, into);
}

SystemCalls::Value FaultySystemCalls::monotonic_nanoseconds() {
  const Outcome outcome = next(Call::monotonic_nanoseconds, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::monotonic_nanoseconds();
}

SystemCalls::Value FaultySystemCalls::wall_nanoseconds() {
  const Outcome outcome = next(Call::wall_nanoseconds, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::wall_nanoseconds();
}

SystemCalls::Value FaultySystemCalls::random_bytes(MutableBytes into) {
  const Outcome outcome = next(Call::random_bytes, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::random_bytes(into);
}

SystemCalls::Value FaultySystemCalls::process_id() {
  const Outcome outcome = next(Call::process_id, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::process_id();
}

SystemCalls::Value FaultySystemCalls::set_descriptor_limit(const rlimit& limit) {
  const Outcome outcome = next(Call::set_descriptor_limit, __builtin_return_address(0));
  return outcome.instead ? *outcome.instead : SystemCalls::set_descriptor_limit(limit);
}

}  // namespace booblik::env
