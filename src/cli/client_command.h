// What the commands that talk to a broker have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "client/address.h"
#include "client/failure.h"
#include "client/reconnect.h"
#include "client/roles.h"
#include "env/posix/environment.h"
#include "env/posix/signals.h"
#include "env/sync.h"

namespace booblik::cli {

struct BrokerOptions {
  std::string broker = "127.0.0.1:9092";
  std::int64_t timeout_ms = 30'000;
  std::int64_t reconnect_ms = 60'000;
};

// --broker (or BOOBLIK_BROKER) and --timeout-ms, whose default is what `options` has.
void add_broker_options(CLI::App& app, BrokerOptions& options);

// --reconnect-ms, for commands that may outlive a broker.
void add_reconnect_option(CLI::App& app, BrokerOptions& options);

// What such a command works with, on a fiber of the production environment.
struct ClientContext {
  env::PosixEnvironment& environment;
  client::Roles roles;
  client::Address broker;
  Duration timeout;
  client::ReconnectOptions reconnect;
};

// Runs `body` as the main fiber. A wrong address is a usage error of `command`.
ExitCode run_client(std::string_view command, const BrokerOptions& options,
                    std::move_only_function<ExitCode(const ClientContext&)> body);

// While it lives, the first SIGINT or SIGTERM calls `stop` (on a fiber, which may not park) so that the
// command can end in good order; the second ends the process at once.
class Interrupts {
 public:
  Interrupts(const ClientContext& context, std::function<void()> stop);
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  // Parks.
  ~Interrupts();

  [[nodiscard]] bool arrived() const { return arrived_; }

 private:
  void run();

  std::unique_ptr<env::Signals>
      signals_;  // null: no descriptors are left, so signals end the process as usual
  std::function<void()> stop_;
  bool arrived_ = false;
  env::WaitGroup fiber_;
};

// Tells the person at the terminal of a loss and of the return, once for each; `subject` says of what.
[[nodiscard]] client::OnConnection connection_notes(std::string_view command, std::string subject);

[[nodiscard]] ExitCode exit_code_of(const client::Failure& failure);

// Prints the failure as what ended `command`.
ExitCode fail_client(std::string_view command, const client::Failure& failure);

}  // namespace booblik::cli
