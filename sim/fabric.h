// The network between all processes: listeners, and links of two streams. One address space, as on a
// loopback: a port is taken once. Everything here lives on the world's heap and outlives the processes that
// use it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "env/random.h"
#include "sim/faults.h"
#include "sim/process.h"
#include "sim/stream.h"

namespace booblik::sim {

using LinkNumber = std::uint64_t;
using ListenerNumber = std::uint64_t;

class Fabric {
 public:
  Fabric(Core& core, NetworkOptions options, std::uint64_t seed);

  // One end of a link. Side 0 connected, side 1 accepted; stream i carries what side i sends.
  struct Side {
    Process* process = nullptr;
    bool open = false;  // receives: connected and not closed, accepted or in a backlog
    bool reset = false;
    bool reset_by_peer = false;
    bool send_broken = false;  // the peer closed and took no more: what it had sent before still arrives
    bool receiving_stopped = false;
    bool dark = false;      // its machine lost power: what arrives is swallowed without an answer
    env::FiberId receiver;  // while it waits
    env::FiberId sender;
    std::move_only_function<void()> on_reset;  // memory of the process
    std::string peer;
  };
  struct Link {
    Side sides[2];
    Stream streams[2];
  };
  struct ListenerState {
    Process* process = nullptr;
    std::uint16_t port = 0;
    std::deque<LinkNumber> backlog;
    env::FiberId acceptor;
  };

  // --- connections ---
  [[nodiscard]] Link& link(LinkNumber number);
  // Sends what fits of `parts` or of a file, and says how many bytes went; 0 when the stream is full.
  std::size_t send(LinkNumber number, int side, std::span<const Bytes> parts);
  std::int64_t send_file(LinkNumber number, int side, FileSystem& files, InodeNumber inode,
                         std::int64_t position, std::int64_t length);
  void send_end(LinkNumber number, int side);
  // What a receive into `room` bytes gives now; at least one byte must have arrived.
  [[nodiscard]] std::size_t draw_receive(std::size_t arrived, std::size_t room);
  void received(LinkNumber number, int side, std::size_t count);
  void stop_receiving(LinkNumber number, int side);
  // This end breaks the stream; the other one learns it later.
  void abort(LinkNumber number, int side);
  // The socket is closed in good order.
  void close(LinkNumber number, int side);
  void forget_on_reset(Side& side);
  void notify_reset(LinkNumber number, int side);

  // --- listeners and connecting ---
  [[nodiscard]] std::optional<ListenerNumber> listen(Process& process, std::uint16_t port);  // nullopt: taken
  [[nodiscard]] ListenerState* listener(ListenerNumber number);
  void close_listener(ListenerNumber number);
  // nullopt: refused.
  [[nodiscard]] std::optional<LinkNumber> connect(Process& process, std::uint16_t port);
  [[nodiscard]] LinkNumber accept(ListenerState& from);
  [[nodiscard]] Duration draw_latency();

  // --- crashes ---
  // The kernel closes everything of a process that died; its machine may have died with it.
  void process_died(Process& process, bool power_lost);
  // What the machine's processes, dead ones too, had sent and not delivered is gone.
  void machine_lost_power(const Machine& machine);

  [[nodiscard]] const NetworkOptions& options() const { return options_; }
  void set_options(const NetworkOptions& options) { options_ = options; }
  [[nodiscard]] std::size_t open_sides(const Process& process) const;
  [[nodiscard]] std::size_t links() const { return links_.size(); }

 private:
  void launch(LinkNumber number, int side, Stream::Piece piece);
  void deliver(LinkNumber number, int from);
  void maybe_reset(LinkNumber number);
  void reset_side(LinkNumber number, int side);
  void reset_later(LinkNumber number, int side, Duration after);
  void break_sending(LinkNumber number, int side);
  void wake_both(const Side& side);
  void drop_if_unused(LinkNumber number);
  [[nodiscard]] std::int64_t draw_send(const Stream& stream, std::int64_t wanted);

  Core& core_;
  NetworkOptions options_;
  env::Random latency_;
  env::Random cuts_;
  env::Random faults_;
  std::map<LinkNumber, std::unique_ptr<Link>> links_;
  std::map<ListenerNumber, ListenerState> listeners_;
  LinkNumber next_link_ = 1;
  ListenerNumber next_listener_ = 1;
  std::uint16_t next_port_ = 40'000;
};

}  // namespace booblik::sim
