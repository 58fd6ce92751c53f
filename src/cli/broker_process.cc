#include "cli/broker_process.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "broker/server.h"
#include "cli/descriptors.h"
#include "cli/process_input.h"
#include "cli/version.h"
#include "env/posix/environment.h"
#include "env/posix/signals.h"
#include "env/sync.h"

namespace booblik::cli {
namespace {

ExitCode fail_serve(std::string_view message) {
  return fail_command("serve", message, ExitCode::refused);
}

// Without destroying anything: what is not durable by now is not vouched for.
[[noreturn]] void end_now(ExitCode code) {
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

// What to do about a refusal, where its own sentence does not say it: one that begins with a key does.
std::string_view advice(const Error& error) {
  if (error.message.starts_with("booblik.")) {
    return "";
  }
  switch (error.code) {
    case ErrorCode::invalid:
      return "; choose an address of this machine (--bind-address) and a port that you may use (--port)";
    case ErrorCode::address_in_use:
      return "; stop the program that listens there, or choose another port (--port)";
    case ErrorCode::no_space:
      return "; make room, or choose another directory (--data-dir)";
    case ErrorCode::not_found:
      return "; create the directory above it, or choose another (--data-dir)";
    default:
      return "";
  }
}

// "127.0.0.1:9092", "[::1]:9092".
bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("[::ffff:127.");
}

// Turns the first SIGTERM or SIGINT into a stop of the server, and leaves the second to the kernel, which
// ends the process even when the reactor hangs.
class StopOnSignal {
 public:
  StopOnSignal(env::Scheduler& scheduler, std::unique_ptr<env::Signals> signals)
      : signals_(std::move(signals)), watching_(scheduler) {
    watching_.add();
    scheduler.spawn("signals", [this] {
      watch();
      watching_.done();
    });
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  ~StopOnSignal() {
    if (signals_ != nullptr) {
      signals_->stop();
    }
    static_cast<void>(watching_.wait(Deadline::never()));
  }

  // From now on a signal stops `server`; before, it ends the process.
  void stop_server(broker::Server& server) { server_ = &server; }
  // The server is about to go.
  void forget_server() { server_ = nullptr; }

 private:
  void watch() {
    const auto number = signals_->wait(Deadline::never());
    if (!number) {
      return;  // the server has ended by itself
    }
    for (const int each : {SIGTERM, SIGINT}) {
      std::signal(each, [](int) { std::_Exit(static_cast<int>(ExitCode::refused)); });
    }
    signals_.reset();
    fmt::print(stderr, "booblik serve: stopping; a second signal ends it at once\n");
    if (server_ == nullptr) {
      end_now(ExitCode::ok);  // recovery may end anywhere, so a start may too
    }
    server_->request_stop();
  }

  std::unique_ptr<env::Signals> signals_;  // null once one has come
  broker::Server* server_ = nullptr;
  env::WaitGroup watching_;
};

void print_start(const Configuration& configuration, const broker::Server& server) {
  std::string block = fmt::format("booblik {} (--print-config shows all of the configuration)\n", version());
  block += describe(configuration, Shown::essential);
  for (const std::string& partition : server.describe_partitions()) {
    block += partition + "\n";
  }
  block += fmt::format("booblik listening on {}\n", server.address());
  std::fputs(block.c_str(), stdout);
  std::fflush(stdout);
  if (!is_loopback(server.address())) {
    fmt::print(stderr,
               "booblik serve: {} can be reached from other machines. There is no authentication and no "
               "encryption: whoever "
               "reaches it reads and writes everything.\n",
               server.address());
  }
}

// The main fiber.
ExitCode serve(env::PosixEnvironment& posix, const Configuration& configuration) {
  auto signals = env::Signals::create(posix.system(), posix.reactor(), {SIGTERM, SIGINT});
  if (!signals) {
    return fail_serve(signals.error().message);
  }
  env::Environment environment = posix.roles();
  StopOnSignal stop(environment.scheduler, std::move(*signals));
  auto server = broker::Server::open(environment, configuration.options);
  if (!server) {
    return fail_serve(server.error().message + std::string(advice(server.error())));
  }
  print_start(configuration, **server);
  stop.stop_server(**server);
  const auto stopped = (*server)->run();
  stop.forget_server();
  if (!stopped) {
    fail_serve(stopped.error().message);
    end_now(ExitCode::refused);
  }
  fmt::print(stderr, "booblik serve: stopped in good order\n");
  return ExitCode::ok;
}

}  // namespace

ExitCode run_broker(Configuration configuration) {
  if (const auto writable = check_writable_directory(configuration.options.data_directory); !writable) {
    return fail_serve(writable.error().message);
  }
  env::SystemCalls system;
  const auto plan = plan_descriptors(env::raise_descriptor_limit(system), configuration.options);
  if (!plan) {
    return fail_serve(plan.error().message);
  }
  if (plan->warning) {
    fmt::print(stderr, "booblik serve: {}\n", *plan->warning);
  }
  configuration.options.connections_max = plan->connections;
  env::PosixEnvironment::Options options;
  options.storage_descriptors = plan->storage;
  auto posix = env::PosixEnvironment::create(options, system);
  if (!posix) {
    return fail_serve(posix.error().message);
  }
  ExitCode code = ExitCode::refused;
  (*posix)->run([&] { code = serve(**posix, configuration); });
  return code;
}

}  // namespace booblik::cli
