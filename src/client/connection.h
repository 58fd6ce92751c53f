// One connection to a broker: a pipeline of requests, whose answers come in the order of the requests. One
// fiber may send while another receives.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/time.h"
#include "client/address.h"
#include "client/failure.h"
#include "client/frame_buffer.h"
#include "env/network.h"
#include "wire/response.h"

namespace booblik::client {

class Connection {
 public:
  // Parks. Failures: unreachable, timed_out.
  static Outcome<std::unique_ptr<Connection>> open(env::Network& network, const Address& broker,
                                                   Deadline deadline);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // A number for the next request; it is unique among those that are outstanding.
  [[nodiscard]] std::int32_t next_correlation_id() { return next_correlation_id_++; }

  // Sends one whole frame (length field included), which is the caller's until it returns. With
  // `answered_as` an answer with that correlation id is expected; without, none (ackPolicy NONE). Returning
  // says that the system took the bytes, not that the broker did. After a failure the outcome is unknown and
  // no more can be sent, but answers to earlier requests may still be received. Parks.
  Outcome<void> send(Bytes frame, std::optional<std::int32_t> answered_as, Deadline deadline);

  struct Answer {
    std::int32_t correlation_id = 0;
    wire::WireError error = wire::WireError::none;
    Bytes frame;  // behind the length field, for wire's decoders; lives until the next receive
  };

  // The answer to the oldest outstanding request (there is one). timed_out leaves the connection as it was:
  // call again to wait on. Any other failure (lost, bad_answer: also a wrong correlation id, a frame above 8
  // MiB) is final. Parks.
  Outcome<Answer> receive(Deadline deadline);

  // Sends and receives, when nothing is outstanding. timed_out is final here: the late answer would be in the
  // way. Parks.
  Outcome<Answer> call(Bytes frame, std::int32_t correlation_id, Deadline deadline);

  // While nothing is outstanding (and nobody receives): whether the peer has ended the connection, or sent
  // what nobody asked for. Does not wait; a failure is final. An idle connection is looked at before it is
  // used, since what is sent to a peer that has gone is lost without a word.
  Outcome<void> check_idle();

  // Handed to the system by all sends.
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }

  [[nodiscard]] std::size_t outstanding() const { return outstanding_.size(); }

  // Breaks the connection: whoever waits in a call, and every later call, fails with `lost`.
  void abort() { stream_->abort(); }

 private:
  Connection(std::unique_ptr<env::Connection> stream, const Address& broker)
      : stream_(std::move(stream)), broker_(broker.to_string()) {}

  Outcome<void> receive_more(Deadline deadline);
  Outcome<Answer> take_first();
  std::unexpected<Failure> give_up(std::unexpected<Failure> failure);

  std::unique_ptr<env::Connection> stream_;
  std::string broker_;  // for messages
  FrameBuffer received_;
  bool holds_answer_ = false;  // the first frame of received_ was handed out
  std::deque<std::int32_t> outstanding_;
  std::int32_t next_correlation_id_ = 1;
  std::uint64_t bytes_sent_ = 0;
  std::optional<Failure> send_failure_;
  std::optional<Failure> receive_failure_;
};

}  // namespace booblik::client
