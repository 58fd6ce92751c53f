// An operation that can fail in a way that its caller can act on returns Result<T>.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace booblik {

// A code exists only where some caller decides by it; everything else is in the message.
enum class ErrorCode {
  not_found,            // no such file, directory, topic or partition
  already_exists,       // create_new on a name that is there
  no_space,             // ENOSPC, EDQUOT: may work again when space is back
  too_many_files,       // EMFILE, ENFILE: may work again when descriptors are free
  io,                   // EIO and everything else that a disk says
  poisoned,             // an earlier sync of this file failed: what is on disk is unknown
  locked,               // another process holds the data directory
  closed,               // our side was closed or is shutting down
  reset,                // the peer went away
  timed_out,            // the deadline passed
  address_in_use,       // listen: somebody else has the port
  unreachable,          // connect: refused, no route, unknown host
  offset_out_of_range,  // the offset lies outside [log start, high watermark]
  damaged,              // stored bytes are not what was written
  invalid,              // the input breaks a rule; the message says which
};

struct Error {
  ErrorCode code;
  std::string message;  // a sentence for a person: what, where, why
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

// The same code with context in front: "segment 12: read failed: ...".
[[nodiscard]] inline std::unexpected<Error> fail(std::string_view context, Error error) {
  return fail(error.code, std::string(context) + ": " + error.message);
}

}  // namespace booblik
