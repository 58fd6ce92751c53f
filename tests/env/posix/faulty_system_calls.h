// The real system calls, with failures on order.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "env/posix/system_calls.h"

namespace booblik::env {

// One for each entry of the table; tests/kernel holds them against the header.
enum class Call {
  open,
  close,
  preadv2,
  pwritev,
  fdatasync,
  fsync,
  ftruncate,
  fstat,
  fstatat,
  getdents,
  mkdir,
  rename,
  unlink,
  statvfs,
  flock,
  cachestat,
  fadvise,
  socket,
  bind,
  listen,
  accept4,
  connect,
  getsockname,
  getsockopt,
  setsockopt,
  recv,
  sendmsg,
  sendfile,
  shutdown,
  unsent_bytes,
  epoll_create,
  epoll_ctl,
  epoll_wait,
  eventfd,
  signalfd,
  poll_writable,
  read,
  write,
  monotonic_nanoseconds,
  wall_nanoseconds,
  random_bytes,
  process_id,
  get_descriptor_limit,
  set_descriptor_limit,
  count_,
};

// One kind of call goes wrong.
struct Fault {
  Call call;
  std::int64_t result;    // the negated errno to return instead of making the call; 0: see max_bytes
  std::int64_t skip = 0;  // calls that go well before
  std::int64_t times = std::numeric_limits<std::int64_t>::max();  // then so many go wrong
  std::int64_t every = 1;                                         // of which only each n-th does
  std::size_t max_bytes = 0;  // reads and writes: no more than so many bytes
  std::size_t place = 0;  // only in the n-th place of the code that makes this call, in the order in which
                          // they first do; 0: in any
};

using PlacesSeen = std::array<std::size_t, static_cast<std::size_t>(Call::count_)>;

class FaultySystemCalls final : public SystemCalls {
 public:
  void inject(Fault fault);
  void heal();
  // Calls so far, whether made or refused.
  [[nodiscard]] std::int64_t count(Call call) const;

  Value open(const std::string& path, int flags, mode_t mode) override;
  Value preadv2(int descriptor, const iovec* parts, int count, std::int64_t position, int flags) override;
  Value pwritev(int descriptor, const iovec* parts, int count, std::int64_t position) override;
  Value fdatasync(int descriptor) override;
  Value fsync(int descriptor) override;
  Value ftruncate(int descriptor, std::int64_t size) override;
  Value getdents(int directory, MutableBytes into) override;
  Value mkdir(const std::string& path, mode_t mode) override;
  Value rename(const std::string& from, const std::string& to) override;
  Value unlink(const std::string& path) override;
  Value flock(int descriptor, int operation) override;
  Value cachestat(int descriptor, std::int64_t position, std::int64_t length, CacheStatistics* into) override;
  Value fadvise(int descriptor, std::int64_t position, std::int64_t length, int advice) override;
  Value socket(int family, int type) override;
  Value accept4(int descriptor, sockaddr* address, socklen_t* length, int flags) override;
  Value connect(int descriptor, const sockaddr* address, socklen_t length) override;
  Value recv(int descriptor, MutableBytes into, int flags) override;
  Value sendmsg(int descriptor, const msghdr* message, int flags) override;
  Value sendfile(int socket, int file, std::int64_t position, std::size_t length) override;
  Value epoll_wait(int epoll, std::span<epoll_event> events, Duration timeout) override;
  Value write(int descriptor, Bytes from) override;
  Value get_descriptor_limit(rlimit* into) override;
  Value close(int descriptor) override;
  Value fstat(int descriptor, struct stat* into) override;
  Value fstatat(int directory, const char* name, struct stat* into) override;
  Value statvfs(const std::string& path, struct statvfs* into) override;
  Value bind(int descriptor, const sockaddr* address, socklen_t length) override;
  Value listen(int descriptor, int backlog) override;
  Value getsockname(int descriptor, sockaddr* address, socklen_t* length) override;
  Value getsockopt(int descriptor, int level, int name, void* value, socklen_t* length) override;
  Value setsockopt(int descriptor, int level, int name, const void* value, socklen_t length) override;
  Value shutdown(int descriptor, int how) override;
  Value unsent_bytes(int descriptor) override;
  Value epoll_create() override;
  Value epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) override;
  Value eventfd() override;
  Value signalfd(const sigset_t& signals) override;
  Value poll_writable(int descriptor) override;
  Value read(int descriptor, MutableBytes into) override;
  Value monotonic_nanoseconds() override;
  Value wall_nanoseconds() override;
  Value random_bytes(MutableBytes into) override;
  Value process_id() override;
  Value set_descriptor_limit(const rlimit& limit) override;

  // What get_descriptor_limit says, without touching the real limit.
  void pretend_descriptor_limit(std::int64_t limit) { pretended_limit_ = limit; }

  // Called, on the thread that makes it, before each preadv2 and fdatasync; for tests that look at who waits
  // for whom.
  std::function<void(Call, int flags)> before_disk_call;

  // Borrowed, where there is one: how many places of the code have made each call so far.
  PlacesSeen* places_seen = nullptr;

 private:
  struct Outcome {
    std::optional<Value> instead;
    std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  };
  [[nodiscard]] Outcome next(Call call, const void* caller);  // from where the call returns to
  std::size_t place_of(Call call, const void* caller);

  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::array<std::int64_t, static_cast<std::size_t>(Call::count_)> counts_{};
  std::array<std::vector<const void*>, static_cast<std::size_t>(Call::count_)> places_;  // by first call
  std::optional<std::int64_t> pretended_limit_;
};

}  // namespace booblik::env
