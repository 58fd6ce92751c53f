#include "cli/client_command.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "cli/terminal.h"

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

void add_reconnect_option(CLI::App& app, BrokerOptions& options) {
  app.add_option("--reconnect-ms", options.reconnect_ms,
                 "How long to look for a broker that went away; 0: a loss is the end")
      ->type_name("MS")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{86'400'000}).description(""))
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
  const ClientContext context{
      .environment = **environment,
      .roles = {roles.scheduler, roles.clock, roles.network, roles.random},
      .broker = *broker,
      .timeout = std::chrono::milliseconds(options.timeout_ms),
      .reconnect = {.enabled = options.reconnect_ms > 0,
                    .give_up_after = std::chrono::milliseconds(options.reconnect_ms)}};
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

client::OnConnection connection_notes(std::string_view command, std::string subject) {
  return [name = std::string(command), what = std::move(subject)](const client::ConnectionEvent& event) {
    if (event.state == client::ConnectionState::connected) {
      print_note(name, what + ": connected again");
    } else if (event.state == client::ConnectionState::reconnecting && event.attempt == 1) {
      print_note(name, what + ": " + event.failure->message + "; connecting again");
    }
  };
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
