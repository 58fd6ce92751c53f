#include "broker_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>

#include "base/check.h"
#include "broker/server.h"
#include "env/posix/environment.h"
#include "env/posix/signals.h"
#include "env/sync.h"

namespace booblik::kernel {
namespace {

constexpr int kRefused = 1;

broker::Options options(const std::string& data_directory) {
  broker::Options options;
  options.port = 0;
  options.data_directory = data_directory;
  options.topics = {{kTopic, 2}};
  options.segment_capacity_bytes = kSegmentBytes;
  options.index_interval_bytes = 64;
  options.flush_every = std::chrono::milliseconds(5);
  options.retention_bytes = 8 * kSegmentBytes;
  options.retention_check_every = std::chrono::milliseconds(10);
  options.metrics_every = std::chrono::milliseconds(20);
  options.open_segment_files_max = 2;
  options.shutdown_timeout = std::chrono::milliseconds(4000);
  return options;
}

int complain(const Error& error) {
  std::fprintf(stderr, "not started or not stopped in good order: %s\n", error.message.c_str());
  return kRefused;
}

// What src/cli does, with the table of calls as an argument.
int serve(env::PosixEnvironment& posix, env::FaultySystemCalls& system, const std::string& data,
          const Faults& faults, int port_pipe) {
  auto signals = env::Signals::create(system, posix.reactor(), {SIGTERM});
  if (!signals) {
    return complain(signals.error());
  }
  env::Environment environment = posix.roles();
  auto server = broker::Server::open(environment, options(data));
  if (!server) {
    return complain(server.error());
  }
  for (const env::Fault& fault : faults.when_serving) {
    system.inject(fault);
  }
  const std::string& address = (*server)->address();
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  BOOBLIK_CHECK(::write(port_pipe, &port, sizeof port) == sizeof port, "a pipe has room for a port");
  env::WaitGroup watching(environment.scheduler);
  watching.add();
  environment.scheduler.spawn("signals", [&] {
    if ((*signals)->wait(Deadline::never())) {
      (*server)->request_stop();
    }
    watching.done();
  });
  const auto stopped = (*server)->run();
  if (!stopped) {
    complain(stopped.error());
    std::fflush(nullptr);
    std::_Exit(kRefused);  // fibers may wait for the disk for ever
  }
  (*signals)->stop();
  static_cast<void>(watching.wait(Deadline::never()));
  return 0;
}

int run(const std::string& data, const Faults& faults, int port_pipe, env::PlacesSeen* places) {
  env::FaultySystemCalls system;
  system.places_seen = places;
  for (const env::Fault& fault : faults.from_the_start) {
    system.inject(fault);
  }
  static_cast<void>(env::raise_descriptor_limit(system));
  auto posix = env::PosixEnvironment::create({}, system);
  if (!posix) {
    return complain(posix.error());
  }
  int code = kRefused;
  (*posix)->run([&] { code = serve(**posix, system, data, faults, port_pipe); });
  return code;
}

}  // namespace

BrokerChild::BrokerChild(const std::string& data_directory, const Faults& faults) {
  std::array<int, 2> port_pipe{};
  std::array<int, 2> error_pipe{};
  BOOBLIK_CHECK(::pipe2(port_pipe.data(), O_CLOEXEC) == 0 && ::pipe2(error_pipe.data(), O_CLOEXEC) == 0,
                "a test can have pipes");
  void* const shared =
      ::mmap(nullptr, sizeof *places_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BOOBLIK_CHECK(shared != MAP_FAILED, "a test can have shared memory");
  places_ = new (shared) env::PlacesSeen{};
  std::fflush(nullptr);
  process_ = ::fork();
  BOOBLIK_CHECK(process_ >= 0, "a test can have a child");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(error_pipe[1], 2);
    ::close(port_pipe[0]);
    const int code = run(data_directory, faults, port_pipe[1], places_);
    std::fflush(nullptr);
    std::_Exit(code);  // the test's own objects are the parent's
  }
  ::close(port_pipe[1]);
  ::close(error_pipe[1]);
  port_pipe_ = port_pipe[0];
  error_pipe_ = error_pipe[0];
}

BrokerChild::~BrokerChild() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(port_pipe_);
  ::close(error_pipe_);
  ::munmap(places_, sizeof *places_);
}

std::optional<std::uint16_t> BrokerChild::wait_until_serving() {
  std::uint16_t port = 0;
  const auto got = ::read(port_pipe_, &port, sizeof port);
  return got == sizeof port ? std::optional(port) : std::nullopt;
}

void BrokerChild::terminate() {
  ::kill(process_, SIGTERM);
}

BrokerChild::End BrokerChild::wait(std::chrono::seconds limit) {
  End end;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::array<char, 4096> text{};
  // Its standard error ends when it does.
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd wanted{error_pipe_, POLLIN, 0};
    if (::poll(&wanted, 1, 50) > 0) {
      const auto got = ::read(error_pipe_, text.data(), text.size());
      if (got <= 0) {
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = 0;
        end.in_time = true;
        end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        return end;
      }
      end.complaint.append(text.data(), static_cast<std::size_t>(got));
    }
  }
  return end;
}

}  // namespace booblik::kernel
