// Preloaded into the broker of the soak: shifts its wall clock by the nanoseconds that stand in the file
// named by CLOCK_SHIFT_FILE, whenever it looks. The machine's own clock stays as it is.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

const volatile std::int64_t* map_shift() {
  static constexpr std::int64_t kNone = 0;
  const char* path = std::getenv("CLOCK_SHIFT_FILE");
  const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) {
    return &kNone;
  }
  void* mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return mapped != MAP_FAILED ? static_cast<const volatile std::int64_t*>(mapped) : &kNone;
}

}  // namespace

extern "C" int clock_gettime(clockid_t which, timespec* now) noexcept {
  using Real = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "clock_gettime"));
  static const volatile std::int64_t* const shift = map_shift();
  const int result = real(which, now);
  if (result == 0 && which == CLOCK_REALTIME) {
    const std::int64_t shifted = now->tv_nsec + *shift % kSecond + kSecond;
    now->tv_sec += *shift / kSecond + shifted / kSecond - 1;
    now->tv_nsec = shifted % kSecond;
  }
  return result;
}
