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

enum class Call {
  open,
  preadv2,
  pwritev,
  fdatasync,
  fsync,
  ftruncate,
  getdents,
  mkdir,
  rename,
  unlink,
  flock,
  cachestat,
  socket,
  accept4,
  connect,
  recv,
  sendmsg,
  sendfile,
  epoll_wait,
  write,
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
};

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
  Value socket(int family, int type) override;
  Value accept4(int descriptor, sockaddr* address, socklen_t* length, int flags) override;
  Value connect(int descriptor, const sockaddr* address, socklen_t length) override;
  Value recv(int descriptor, MutableBytes into, int flags) override;
  Value sendmsg(int descriptor, const msghdr* message, int flags) override;
  Value sendfile(int socket, int file, std::int64_t position, std::size_t length) override;
  Value epoll_wait(int epoll, std::span<epoll_event> events, Duration timeout) override;
  Value write(int descriptor, Bytes from) override;
  Value get_descriptor_limit(rlimit* into) override;

  // What get_descriptor_limit says, without touching the real limit.
  void pretend_descriptor_limit(std::int64_t limit) { pretended_limit_ = limit; }

  // Called, on the thread that makes it, before each preadv2 and fdatasync; for tests that look at who waits
  // for whom.
  std::function<void(Call, int flags)> before_disk_call;

 private:
  struct Outcome {
    std::optional<Value> instead;
    std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  };
  [[nodiscard]] Outcome next(Call call);

  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::array<std::int64_t, static_cast<std::size_t>(Call::count_)> counts_{};
  std::optional<std::int64_t> pretended_limit_;
};

}  // namespace booblik::env
