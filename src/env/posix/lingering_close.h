// Closing a socket in good order.
//
// When a socket is closed while bytes from the peer are unread, or arrive later, the kernel answers with a
// reset, and the reset can destroy what was sent before and not yet read by the peer: for instance the
// answers that a broker gave before it hung up. So such a socket stays open for a moment after its owner has
// left: our end is shut, what arrives is thrown away, and it is closed at the peer's end or after kLingerMax.
// (The same problem and cure: RFC 9112, section 9.6.)
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "env/posix/descriptor.h"
#include "env/posix/descriptor_budget.h"
#include "env/posix/reactor.h"

namespace booblik::env {

class LingeringClose {
 public:
  static constexpr Duration kLingerMax = std::chrono::seconds(2);
  static constexpr std::size_t kSocketsMax = 64;                        // more are closed at once
  static constexpr std::int64_t kDiscardedBytesMax = 64 * 1024 * 1024;  // per socket

  LingeringClose(SystemCalls& system, Reactor& reactor);
  ~LingeringClose();

  // Takes a connected socket that nobody watches or uses any more.
  void close(Descriptor socket, DescriptorBudget::Claim claim);

  [[nodiscard]] std::size_t open() const { return sockets_.size(); }

 private:
  class Socket;
  enum class Drained { nothing, something, ended };

  // Throws away what has arrived.
  [[nodiscard]] Drained drain(int descriptor, std::int64_t& budget);

  SystemCalls& system_;
  Reactor& reactor_;
  // Never touched on Linux: with MSG_TRUNC TCP throws bytes away instead of copying them (tcp(7)).
  std::unique_ptr<std::byte[]> discarded_;
  std::map<int, std::unique_ptr<Socket>> sockets_;  // by descriptor
};

}  // namespace booblik::env
