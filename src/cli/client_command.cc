#include "cli/client_command.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace booblik::cli {

void add_broker_options(CLI::App& app, BrokerOptions& options) {
  app.add_option("--broker", options.broker, "Where the broker is: HOST:PORT")
      ->envname("BOOBLIK_BROKER")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--timeout-ms", options.timeout_ms, "How long to wait for the broker's next answer")
      ->type_name("MS")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{86'400'000}).description(""))
      ->capture_default_str();
}

ExitCode run_client(std::string_view command, const BrokerOptions& options,
                    std::move_only_function<ExitCode(const ClientContext&)> body) {
  const auto broker = client::parse_address(options.broker);
  if (!broker) {
    return fail_usage(command, broker.error().message);
  }
  env::SystemCalls system;
  const auto environment = env::PosixEnvironment::create({}, system);
  if (!environment) {
    return fail_command(command, environment.error().message, ExitCode::refused);
  }
  const env::Environment roles = (*environment)->roles();
  const ClientContext context{.environment = **environment,
                              .roles = {roles.scheduler, roles.clock, roles.network, roles.random},
                              .broker = *broker,
                              .timeout = std::chrono::milliseconds(options.timeout_ms)};
  ExitCode code = ExitCode::ok;
  (*environment)->run([&] { code = body(context); });
  return code;
}

Interrupts::Interrupts(const ClientContext& context, std::function<void()> stop)
    : stop_(std::move(stop)), fiber_(context.roles.scheduler) {
  auto signals =
      env::Signals::create(context.environment.system(), context.environment.reactor(), {SIGINT, SIGTERM});
  if (!signals) {
    return;
  }
  signals_ = std::move(*signals);
  fiber_.add();
  context.roles.scheduler.spawn("interrupts", [this] { run(); });
}

Interrupts::~Interrupts() {
  if (signals_ != nullptr) {
    signals_->stop();
    (void)fiber_.wait(Deadline::never());
  }
}

void Interrupts::run() {
  while (signals_->wait(Deadline::never())) {
    if (std::exchange(arrived_, true)) {
      std::_Exit(128 + SIGINT);
    }
    stop_();
  }
  fiber_.done();
}

ExitCode exit_code_of(const client::Failure& failure) {
  switch (failure.kind) {
    case client::FailureKind::unreachable:
    case client::FailureKind::lost:
    case client::FailureKind::timed_out:
    case client::FailureKind::bad_answer:
    case client::FailureKind::closed:
      return ExitCode::connection;
    case client::FailureKind::refused:
    case client::FailureKind::offset_out_of_range:
    case client::FailureKind::log_reset:
    case client::FailureKind::record_exceeds_max_bytes:
    case client::FailureKind::corrupt_record:
    case client::FailureKind::topic_changed:
      return ExitCode::refused;
    case client::FailureKind::invalid:
      return ExitCode::usage;
  }
  return ExitCode::refused;
}

ExitCode fail_client(std::string_view command, const client::Failure& failure) {
  return fail_command(command, failure.message, exit_code_of(failure));
}

}  // namespace booblik::cli
