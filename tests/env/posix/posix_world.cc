#include "posix/posix_world.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace booblik::env {

ScratchDirectory::ScratchDirectory()
    : path_((std::filesystem::temp_directory_path() / "booblik-test-XXXXXX").string()) {
  EXPECT_NE(::mkdtemp(path_.data()), nullptr);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

PosixWorld::PosixWorld(PosixEnvironment::Options options) {
  auto created = PosixEnvironment::create(options, system_);
  EXPECT_TRUE(created) << created.error().message;
  environment_ = std::move(*created);
}

void PosixWorld::run(const std::function<void(Environment&)>& body) {
  const auto unfinished = environment_->run([&] {
    Environment roles = environment_->roles();
    body(roles);
  });
  EXPECT_TRUE(unfinished.empty()) << "left: " << unfinished.front();
}

void PosixWorld::fail_next_sync() {
  system_.inject({.call = Call::fdatasync, .result = -EIO, .times = 1});
}

std::unique_ptr<ContractWorld> make_posix_world() {
  return std::make_unique<PosixWorld>();
}

}  // namespace booblik::env
