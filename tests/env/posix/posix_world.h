// The production environment for tests: a scratch directory and a table of system calls that can be made to
// fail.
#pragma once

#include <memory>
#include <string>

#include "contract/contract.h"
#include "env/posix/environment.h"
#include "posix/faulty_system_calls.h"

namespace booblik::env {

// Removed with everything in it when it goes.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class PosixWorld final : public ContractWorld {
 public:
  explicit PosixWorld(PosixEnvironment::Options options = {});

  void run(const std::function<void(Environment&)>& body) override;
  [[nodiscard]] std::string directory() const override { return directory_.path(); }
  void fail_next_sync() override;

  FaultySystemCalls& system() { return system_; }
  PosixEnvironment& environment() { return *environment_; }

 private:
  ScratchDirectory directory_;
  FaultySystemCalls system_;
  std::unique_ptr<PosixEnvironment> environment_;
};

std::unique_ptr<ContractWorld> make_posix_world();

}  // namespace booblik::env
