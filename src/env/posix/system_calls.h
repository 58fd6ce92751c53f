// Every system call of this environment, as a table that a test can replace entry by entry: that is how the
// layer above is shown EIO, ENOSPC, EINTR, short writes and a lack of descriptors.
//
// A result is the call's value, or the negated errno; nothing here retries, translates or remembers. The
// calls come from the reactor and from workers at once, so a replacement has to be safe for threads.
#pragma once

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include <csignal>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/time.h"

namespace booblik::env {

// What cachestat(2) fills in (Linux 6.5); the C library does not declare it yet.
struct CacheStatistics {
  std::uint64_t cached = 0;  // pages
  std::uint64_t dirty = 0;
  std::uint64_t under_write_back = 0;
  std::uint64_t evicted = 0;
  std::uint64_t recently_evicted = 0;
};

class SystemCalls {
 public:
  using Value = std::int64_t;

  SystemCalls() = default;
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;
  virtual ~SystemCalls() = default;

  // Files and directories.
  virtual Value open(const std::string& path, int flags, mode_t mode);
  virtual Value close(int descriptor);
  virtual Value preadv2(int descriptor, const iovec* parts, int count, std::int64_t position, int flags);
  virtual Value pwritev(int descriptor, const iovec* parts, int count, std::int64_t position);
  virtual Value fdatasync(int descriptor);
  virtual Value fsync(int descriptor);
  virtual Value ftruncate(int descriptor, std::int64_t size);
  virtual Value fstat(int descriptor, struct stat* into);
  virtual Value fstatat(int directory, const char* name, struct stat* into);  // does not follow links
  virtual Value getdents(int directory, MutableBytes into);
  virtual Value mkdir(const std::string& path, mode_t mode);
  virtual Value rename(const std::string& from, const std::string& to);
  virtual Value unlink(const std::string& path);
  virtual Value statvfs(const std::string& path, struct statvfs* into);
  virtual Value flock(int descriptor, int operation);
  virtual Value cachestat(int descriptor, std::int64_t position, std::int64_t length, CacheStatistics* into);

  // The result of posix_fadvise(3) negated, like the others.
  virtual Value fadvise(int descriptor, std::int64_t position, std::int64_t length, int advice);

  // Sockets.
  virtual Value socket(int family, int type);
  virtual Value bind(int descriptor, const sockaddr* address, socklen_t length);
  virtual Value listen(int descriptor, int backlog);
  virtual Value accept4(int descriptor, sockaddr* address, socklen_t* length, int flags);
  virtual Value connect(int descriptor, const sockaddr* address, socklen_t length);
  virtual Value getsockname(int descriptor, sockaddr* address, socklen_t* length);
  virtual Value getsockopt(int descriptor, int level, int name, void* value, socklen_t* length);
  virtual Value setsockopt(int descriptor, int level, int name, const void* value, socklen_t length);
  virtual Value recv(int descriptor, MutableBytes into, int flags);
  virtual Value sendmsg(int descriptor, const msghdr* message, int flags);
  virtual Value sendfile(int socket, int file, std::int64_t position, std::size_t length);
  virtual Value shutdown(int descriptor, int how);
  virtual Value unsent_bytes(int descriptor);  // ioctl SIOCOUTQ: sent by us, not yet acknowledged by the peer

  // Waiting.
  virtual Value epoll_create();
  virtual Value epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event);
  // A negative timeout waits for ever.
  virtual Value epoll_wait(int epoll, std::span<epoll_event> events, Duration timeout);
  virtual Value eventfd();
  virtual Value signalfd(const sigset_t& signals);
  virtual Value poll_writable(int descriptor);  // 1: a write would not block; 0: it would

  // The rest.
  virtual Value read(int descriptor, MutableBytes into);
  virtual Value write(int descriptor, Bytes from);
  virtual Value monotonic_nanoseconds();
  virtual Value wall_nanoseconds();
  virtual Value random_bytes(MutableBytes into);
  virtual Value process_id();
  virtual Value get_descriptor_limit(rlimit* into);
  virtual Value set_descriptor_limit(const rlimit& limit);
};

}  // namespace booblik::env
