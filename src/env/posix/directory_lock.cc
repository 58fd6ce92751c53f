#include "env/posix/directory_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "env/posix/descriptor.h"
#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

class FlockedDirectory final : public DirectoryLock {
 public:
  FlockedDirectory(Descriptor descriptor, DescriptorBudget::Claim claim)
      : descriptor_(std::move(descriptor)), claim_(std::move(claim)) {}

 private:
  Descriptor descriptor_;
  DescriptorBudget::Claim claim_;
};

// Empty when the holder has not written it yet.
std::string holder(SystemCalls& system, int descriptor) {
  std::array<char, 20> text{};
  const iovec part{text.data(), text.size()};
  const std::int64_t bytes = uninterrupted([&] { return system.preadv2(descriptor, &part, 1, 0, 0); });
  std::string digits;
  for (const char character :
       std::string_view(text.data(), static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)))) {
    if (std::isdigit(static_cast<unsigned char>(character)) == 0) {
      break;
    }
    digits += character;
  }
  return digits;
}

// Over what is there: cutting the file first would give its block away, and on a full disk somebody else may
// have it. The number only helps people, so a disk without room for it keeps nobody from starting; but a
// wrong one must not stay.
Result<void> write_process_id(SystemCalls& system, int descriptor, const std::string& path) {
  std::string text = std::to_string(system.process_id()) + "\n";
  const iovec part{text.data(), text.size()};
  const std::int64_t written = uninterrupted([&] { return system.pwritev(descriptor, &part, 1, 0); });
  const bool no_room = written < 0 && file_error_code(written) == ErrorCode::no_space;
  if (written < 0 && !no_room) {
    return fail_system("write", path, written);
  }
  const std::int64_t size = no_room ? 0 : static_cast<std::int64_t>(text.size());
  if (const std::int64_t cut = uninterrupted([&] { return system.ftruncate(descriptor, size); }); cut < 0) {
    return fail_system("write", path, cut);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DirectoryLock>> lock_directory(SystemCalls& system, DescriptorBudget& budget,
                                                      const std::string& directory) {
  const std::string path = directory + "/lock";
  const std::int64_t opened =
      uninterrupted([&] { return system.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644); });
  if (opened < 0) {
    return fail_system("open", path, opened);
  }
  Descriptor descriptor(system, static_cast<int>(opened));
  const std::int64_t locked =
      uninterrupted([&] { return system.flock(descriptor.get(), LOCK_EX | LOCK_NB); });
  if (locked == -EWOULDBLOCK) {
    const std::string process = holder(system, descriptor.get());
    return fail(ErrorCode::locked,
                fmt::format("{} is in use by another process{}{}; stop it, or choose another data directory",
                            directory, process.empty() ? "" : ", number ", process));
  }
  if (locked < 0) {
    return fail_system("lock", path, locked);
  }
  if (auto written = write_process_id(system, descriptor.get(), path); !written) {
    return std::unexpected(std::move(written).error());
  }
  return std::make_unique<FlockedDirectory>(std::move(descriptor), budget.claim_storage());
}

}  // namespace booblik::env
