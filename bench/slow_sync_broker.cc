// A broker on the real disk whose barriers of one topic take long: `slow_sync_broker DIRECTORY MILLISECONDS`.
// Topics quiet:1 and slow:1; each fdatasync of a file of `slow` takes so long on top. For bench/isolation.py.
// It ends by a signal.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "broker/server.h"
#include "env/posix/environment.h"

namespace booblik {
namespace {

class SlowSync final : public env::SystemCalls {
 public:
  explicit SlowSync(std::chrono::milliseconds extra) : extra_(extra) {}

  Value open(const std::string& path, int flags, mode_t mode) override {
    const Value descriptor = SystemCalls::open(path, flags, mode);
    if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < slow_.size()) {
      slow_[static_cast<std::size_t>(descriptor)] = path.find("/slow-0/") != std::string::npos;
    }
    return descriptor;
  }

  Value fdatasync(int descriptor) override {
    if (static_cast<std::size_t>(descriptor) < slow_.size() && slow_[static_cast<std::size_t>(descriptor)]) {
      std::this_thread::sleep_for(extra_);
    }
    return SystemCalls::fdatasync(descriptor);
  }

 private:
  const std::chrono::milliseconds extra_;
  std::array<std::atomic<bool>, 1024> slow_{};  // by descriptor; workers ask while the reactor opens
};

int serve(const char* directory, std::chrono::milliseconds extra) {
  SlowSync system(extra);
  auto posix = env::PosixEnvironment::create({}, system);
  if (!posix) {
    std::fprintf(stderr, "slow_sync_broker: %s\n", posix.error().message.c_str());
    return 1;
  }
  int code = 0;
  (*posix)->run([&] {
    env::Environment environment = (*posix)->roles();
    broker::Options options;
    options.port = 0;
    options.data_directory = directory;
    options.topics = {{"quiet", 1}, {"slow", 1}};
    auto server = broker::Server::open(environment, options);
    if (!server) {
      std::fprintf(stderr, "slow_sync_broker: %s\n", server.error().message.c_str());
      code = 1;
      return;
    }
    std::printf("booblik listening on %s\n", (*server)->address().c_str());
    std::fflush(stdout);
    code = (*server)->run() ? 0 : 1;
  });
  return code;
}

}  // namespace
}  // namespace booblik

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: slow_sync_broker DIRECTORY MILLISECONDS\n");
    return 2;
  }
  return booblik::serve(argv[1], std::chrono::milliseconds(std::atoi(argv[2])));
}
