// A TCP connection on the reactor: without Nagle's delay, and with keep-alive probes, so that a peer whose
// machine is gone is noticed (as a reset) within some minutes.
#pragma once

#include <functional>
#include <string>

#include "env/network.h"
#include "env/posix/descriptor.h"
#include "env/posix/descriptor_budget.h"
#include "env/posix/file.h"
#include "env/posix/lingering_close.h"
#include "env/posix/reactor.h"
#include "env/posix/socket_address.h"

namespace booblik::env {

// What all sockets of an environment share.
struct SocketServices {
  SystemCalls& system;
  Reactor& reactor;
  DescriptorBudget& budget;
  LingeringClose& lingering;
};

// It remembers what epoll and the last call have told about readiness, so a call that would only say "not
// yet" is not made.
//
// Fairness: after kBytesPerTurn without a wait the fiber yields, so that a stream that is always ready leaves
// the others their turn.
class PosixConnection final : public Connection, private ReadinessHandler {
 public:
  static constexpr std::int64_t kBytesPerTurn = 256 * 1024;
  // Measured on loopback: sendfile runs fastest in pieces that fit the socket buffer.
  static constexpr std::int64_t kSendFilePiece = 128 * 1024;
  // So much is looked up, and brought in when it is cold, at a time.
  static constexpr std::int64_t kResidentWindow = 1024 * 1024;

  PosixConnection(SocketServices& services, Descriptor socket, DescriptorBudget::Claim claim,
                  std::string peer);
  ~PosixConnection() override;

  // For a socket from accept.
  [[nodiscard]] Result<void> start_accepted();

  // For a fresh socket. Errors: unreachable, timed_out, and those of watching. Parks.
  [[nodiscard]] Result<void> connect_to(const SocketAddress& address, Deadline deadline);

  [[nodiscard]] Result<void> wait_readable(Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> receive(MutableBytes buffer, Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> send(std::span<const Bytes> parts, Deadline deadline) override;
  [[nodiscard]] Result<std::int64_t> send_file(File& file, Position position, std::int64_t length,
                                               Deadline deadline) override;
  void shutdown_send() override;
  void stop_receiving() override;
  void abort() override;
  void on_reset(std::move_only_function<void()> callback) override;
  [[nodiscard]] const std::string& peer() const override { return peer_; }

 private:
  enum class Input {
    none,      // epoll will tell when there is some
    possible,  // only a call can tell
    present,   // bytes, the end or an error
  };

  void on_ready(std::uint32_t epoll_events) override;
  [[nodiscard]] Result<void> watch();
  void set_options();
  void set_option(int level, int name, int value);
  void note_reset();
  void wake(FiberId fiber);
  [[nodiscard]] std::int64_t receive_now(MutableBytes buffer, int flags);
  // At the deadline it lets the caller try once more, then it is timed_out.
  [[nodiscard]] Result<void> wait_for_input(Deadline deadline, bool& last_try);
  [[nodiscard]] Result<void> wait_for_output(Deadline deadline, bool& last_try);
  [[nodiscard]] Wake wait(FiberId& waiting, Deadline deadline);
  template <class Call>
  [[nodiscard]] Result<std::int64_t> send_when_writable(Deadline deadline, Call&& call);
  [[nodiscard]] Result<void> make_resident(PosixFile& file, Position position, std::int64_t length);
  void count(std::int64_t bytes);
  [[nodiscard]] std::unexpected<Error> fail_reset() const;
  [[nodiscard]] std::unexpected<Error> fail_timed_out(std::string_view what) const;

  SocketServices& services_;
  Descriptor socket_;
  DescriptorBudget::Claim claim_;
  std::string peer_;
  WatchId watch_;
  std::move_only_function<void()> on_reset_;

  FiberId receiver_;  // who waits for input
  FiberId sender_;    // who waits for output
  Input input_ = Input::possible;
  bool writable_ = true;
  bool connecting_ = false;
  bool peer_ended_ = false;
  bool receiving_stopped_ = false;
  bool sending_shut_ = false;
  bool reset_ = false;
  bool aborted_ = false;

  std::int64_t bytes_this_turn_ = 0;
  // The part of a file that was in the page cache a moment ago.
  const File* resident_file_ = nullptr;
  Position resident_from_;
  Position resident_to_;
};

}  // namespace booblik::env
