// What every environment promises (the headers of src/env), as tests that know nothing else of it. An
// implementation links these sources and instantiates the three suites with its factory:
//
//   INSTANTIATE_TEST_SUITE_P(Posix, SchedulerContract, ::testing::Values(&make_posix_world));
//   INSTANTIATE_TEST_SUITE_P(Posix, DiskContract, ::testing::Values(&make_posix_world));
//   INSTANTIATE_TEST_SUITE_P(Posix, NetworkContract, ::testing::Values(&make_posix_world));
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "env/environment.h"

namespace booblik::env {

// A fresh environment for one test.
class ContractWorld {
 public:
  virtual ~ContractWorld() = default;

  // Runs `body` as the main fiber, and everything that it spawns, until it returns; a fiber that is left then
  // is a failure of the test.
  virtual void run(const std::function<void(Environment&)>& body) = 0;

  // An empty directory for the test's files.
  [[nodiscard]] virtual std::string directory() const = 0;

  // Where listeners can be opened: "127.0.0.1".
  [[nodiscard]] virtual std::string host() const { return "127.0.0.1"; }

  // Makes the next sync_data of any file fail with `io`.
  virtual void fail_next_sync() = 0;
};

using MakeWorld = std::unique_ptr<ContractWorld> (*)();

class EnvironmentContract : public ::testing::TestWithParam<MakeWorld> {
 protected:
  void run(const std::function<void(Environment&)>& body) { world_->run(body); }
  [[nodiscard]] std::string path(const std::string& name) const { return world_->directory() + "/" + name; }

  std::unique_ptr<ContractWorld> world_ = GetParam()();
};

using SchedulerContract = EnvironmentContract;
using DiskContract = EnvironmentContract;
using NetworkContract = EnvironmentContract;

// Long enough that it never passes in a test that works.
inline Deadline soon(Environment& env) {
  return Deadline(env.clock.now() + std::chrono::seconds(20));
}

inline Deadline after(Environment& env, Duration wait) {
  return Deadline(env.clock.now() + wait);
}

}  // namespace booblik::env
