// A lock file that another process holds: whatever it contains, the refusal names a number or nobody.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "env/posix/directory_lock.h"
#include "env/posix/environment.h"

namespace booblik::env {
namespace {

// Every file is locked by somebody else, and holds the input.
class LockedFile final : public SystemCalls {
 public:
  explicit LockedFile(Bytes content) : content_(content) {}

  Value open(const std::string&, int, mode_t) override { return 1'000'000; }
  Value close(int) override { return 0; }
  Value flock(int, int) override { return -EWOULDBLOCK; }
  Value preadv2(int, const iovec* parts, int count, std::int64_t position, int) override {
    BOOBLIK_CHECK(count == 1 && position >= 0, "a lock file is read in one piece");
    const Bytes rest = content_.subspan(std::min(content_.size(), static_cast<std::size_t>(position)));
    const std::size_t size = std::min(rest.size(), parts->iov_len);
    if (size > 0) {
      std::memcpy(parts->iov_base, rest.data(), size);
    }
    return static_cast<Value>(size);
  }

 private:
  Bytes content_;
};

}  // namespace
}  // namespace booblik::env

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  static env::SystemCalls system;
  static const auto environment = env::PosixEnvironment::create({}, system);
  BOOBLIK_CHECK(environment.has_value(), "there is an environment");
  env::LockedFile held(std::as_bytes(std::span(data, size)));
  const auto lock = env::lock_directory(held, (*environment)->descriptors(), "data");
  BOOBLIK_CHECK(!lock && lock.error().code == ErrorCode::locked, "a held lock is refused");
  const std::string& message = lock.error().message;
  BOOBLIK_CHECK(
      message.size() < 200 && std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }),
      "nothing of a file's content but digits reaches a message");
  return 0;
}
