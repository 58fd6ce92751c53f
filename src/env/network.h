// Byte streams between peers. Every wait has an absolute deadline.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "env/disk.h"

namespace booblik::env {

// One connected stream. At most one fiber receives and at most one sends at a time; they may be two.
// Destruction closes it in good order (what was sent is still delivered); no fiber may be inside a call then.
// Errors of every call: `reset` when the peer or abort() broke the stream, `timed_out` at the deadline.
class Connection {
 public:
  virtual ~Connection() = default;

  // Returns when receive would not have to wait: there are bytes, the end, or an error. Lets an idle
  // connection own no buffer. Parks.
  [[nodiscard]] virtual Result<void> wait_readable(Deadline deadline) = 0;

  // Waits for at least one byte and returns how many were put in `buffer` (not empty); 0 means that the peer
  // has finished sending (half-close: it may still be reading). May park.
  [[nodiscard]] virtual Result<std::size_t> receive(MutableBytes buffer, Deadline deadline) = 0;

  // Hands at least one byte over and returns how many went: often fewer than all. `parts` must hold a byte
  // and are the caller's until it returns. Returning says nothing about the peer having got them. May park.
  [[nodiscard]] virtual Result<std::size_t> send(std::span<const Bytes> parts, Deadline deadline) = 0;

  // Hands at least one byte of [position, position + length) of `file` over without copying it through the
  // process and returns how many went. `file` is of the same environment and long enough: a file that ends
  // before is `io`. May park, also to bring cold bytes into memory by a worker, so that other connections are
  // not held up.
  [[nodiscard]] virtual Result<std::int64_t> send_file(File& file, Position position, std::int64_t length,
                                                       Deadline deadline) = 0;

  // No more will be sent; the peer sees the end after what was sent before.
  virtual void shutdown_send() = 0;

  // No more will be received: a waiting wait_readable or receive returns as at the peer's end (receive gives
  // 0), so does every later one, whatever the peer still sends. Sending goes on. This is how another fiber
  // ends a reader. Does not park.
  virtual void stop_receiving() = 0;

  // Breaks the stream at once: whoever waits in a call gets `reset`, so does every later call; the peer sees
  // a reset.
  virtual void abort() = 0;

  // `callback` runs once, on this reactor, when the peer has reset the stream (not when it half-closes), even
  // while nobody is receiving; at once if it has happened already. It must not park. An empty one forgets the
  // last.
  virtual void on_reset(std::move_only_function<void()> callback) = 0;

  // "127.0.0.1:51234", for people.
  [[nodiscard]] virtual const std::string& peer() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;

  // Waits for the next connection. `closed` after close(). Running out of descriptors is not an error here:
  // the implementation waits, without spinning, until one is free. Parks.
  [[nodiscard]] virtual Result<std::unique_ptr<Connection>> accept(Deadline deadline) = 0;

  // Stops listening; a waiting accept returns.
  virtual void close() = 0;

  // With the port that was really bound: "127.0.0.1:9092".
  [[nodiscard]] virtual const std::string& address() const = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  // `host` is an IP address or a name; port 0 lets the system choose. Errors: address_in_use, invalid, io.
  [[nodiscard]] virtual Result<std::unique_ptr<Listener>> listen(const std::string& host,
                                                                 std::uint16_t port) = 0;

  // Errors: unreachable, timed_out, too_many_files. Parks.
  [[nodiscard]] virtual Result<std::unique_ptr<Connection>> connect(const std::string& host,
                                                                    std::uint16_t port,
                                                                    Deadline deadline) = 0;
};

}  // namespace booblik::env
