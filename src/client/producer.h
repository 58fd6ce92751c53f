// Writes records to one topic. Records are gathered into batches, several batches are under way at a time,
// and every record's outcome is told. Nothing is sent twice: what is not known to be written is reported as
// unknown, and the caller decides. After a loss the producer connects again; what had been sent is reported
// as unknown then, what had not been sent yet goes out over the new connection, in its order. For fibers of
// one reactor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "client/address.h"
#include "client/batch_accumulator.h"
#include "client/connection.h"
#include "client/failure.h"
#include "client/reconnector.h"
#include "client/roles.h"
#include "env/sync.h"
#include "wire/protocol.h"

namespace booblik::client {

// What became of one batch.
struct Delivery {
  enum class State {
    acknowledged,  // written or forced, as asked; record i of the batch has offset base_offset + i
    handed_over,   // ackPolicy NONE: the system has it, nobody will say more
    refused,       // the broker said no: none of it was written
    unknown,       // sent, but the connection broke before the answer: all, some or none of it was written,
                   // perhaps only after what goes over the next connection
    not_sent,      // none of it was written
  };

  State state = State::not_sent;
  std::uint64_t batch = 0;  // as in the tickets of its records
  PartitionId partition;
  std::int32_t records = 0;
  Offset base_offset;                // when acknowledged
  const Failure* failure = nullptr;  // unless acknowledged or handed over
};

struct ProducerOptions {
  Address broker;
  std::string topic;
  wire::AckPolicy acks = wire::AckPolicy::written;
  // A batch goes out when it has so many bytes or records, or when its first record is `linger` old.
  std::size_t batch_bytes = 128 * 1024;
  std::int32_t batch_records = 100'000;
  Duration linger{0};
  std::size_t in_flight_max = 16;                    // requests sent and not answered
  std::size_t buffered_bytes_max = 8 * 1024 * 1024;  // of records not sent yet; send waits beyond it
  Duration connect_timeout = std::chrono::seconds(5);
  Duration request_timeout = std::chrono::seconds(30);
  ReconnectOptions reconnect = {};
  OnConnection on_connection = {};
  // Called once for each batch, for those of one partition in the order in which they were gathered, in the
  // producer's own fibers: it must neither park nor call the producer.
  std::function<void(const Delivery&)> on_delivery;
};

class Producer {
 public:
  // Connects, once, and asks for the topic's partitions. Parks.
  static Outcome<std::unique_ptr<Producer>> open(Roles roles, ProducerOptions options);

  // What close() has not seen through is dropped and reported. May park, while it has no connection at most
  // about connect_timeout.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  [[nodiscard]] std::int32_t partition_count() const { return partition_count_; }

  // Each takes a copy of `value` and returns before it is sent. Parks while buffered_bytes_max is reached,
  // also because the broker is away. Failures: `invalid` for an empty record or one that no request can
  // carry, `refused` for a partition that does not exist (the producer goes on); anything else is the end of
  // this producer and will be returned by every later call: unreachable, lost or timed_out (reconnecting is
  // off, or it gave up), bad_answer, refused (the topic is gone), topic_changed, closed.
  Outcome<Ticket> send(Bytes value);                   // round robin
  Outcome<Ticket> send_keyed(Bytes key, Bytes value);  // by the key's hash; the key itself does not travel
  Outcome<Ticket> send_to(PartitionId partition, Bytes value);

  // Returns when the outcome of every record sent before is known and reported; with ackPolicy NONE when the
  // broker has taken them. Failure: the first batch since the last flush that was not written as asked, or
  // with ackPolicy NONE the loss of a connection that records were handed to since then. Parks, at most about
  // request_timeout behind the last answer, or until reconnecting gives up.
  Outcome<void> flush();

  // Ends at once what may take long: nothing that has not been sent will be (it is reported not_sent), no
  // more connections are made, and later calls fail with `closed`. Answers that are due are still taken. From
  // any fiber, also while others wait in a call. Does not park.
  void give_up();

  // Flushes and ends; later calls fail with `closed`. Parks.
  Outcome<void> close();

  // Ends it at once, from another fiber: what has no outcome yet is reported as unknown or not sent, and
  // every call, also one that is waiting, fails with `closed`. Does not park.
  void interrupt();

  // False after a loss, until there is a new connection.
  [[nodiscard]] bool connected() const { return !loss_; }
  // How many times it has connected again.
  [[nodiscard]] std::uint64_t reconnects() const { return reconnector_.connections(); }

 private:
  // A request that waits for its answer.
  struct InFlight {
    std::int32_t correlation_id = 0;
    Deadline deadline = Deadline::never();
    bool is_fence = false;  // METADATA behind ackPolicy NONE
    Delivery delivery;
    std::uint64_t completes = 0;  // batches that are done with its answer, in the order of sealing
  };

  Producer(Roles roles, ProducerOptions options, std::unique_ptr<Connection> connection,
           std::int32_t partition_count);

  void start();
  void run_sender();
  void run_receiver();
  // Does one thing of the sender's; false when there is nothing to do now.
  bool send_step();
  void reconnect();
  [[nodiscard]] std::unique_ptr<Batch> take_ready();
  [[nodiscard]] bool window_is_full() const {
    return in_flight_.size() >= (proven_ ? options_.in_flight_max : 1);
  }
  [[nodiscard]] bool has_work() const { return fence_at_ || !accumulator_.empty(); }
  [[nodiscard]] bool fence_is_due() const { return fence_at_ && *fence_at_ <= sent_; }
  [[nodiscard]] bool all_is_over() const {
    return failure_ && in_flight_.empty() && accumulator_.empty() && !transmitting_;
  }
  [[nodiscard]] Deadline linger_deadline() const;
  void transmit(std::unique_ptr<Batch> batch);
  void transmit_fence();
  [[nodiscard]] Outcome<void> check_usable();
  void transmit_failed(std::unique_ptr<Batch> batch, const Failure& failure, bool any_of_it);
  void take_answer(const Connection::Answer& answer);
  void settle(const InFlight& request, const Connection::Answer& answer);
  void report(Delivery delivery, Delivery::State state, std::optional<Failure> failure);
  // The connection is no good any more: there will be another one, or it is the end.
  void lose(const Failure& failure);
  void stop(const Failure& failure);
  void notify_all();
  bool drop_unsent();  // whether there was any
  void fail_in_flight(const Failure& failure);
  void end_fibers();
  Outcome<void> wait_for_room(std::size_t bytes);

  Roles roles_;
  ProducerOptions options_;
  Reconnector reconnector_;
  std::unique_ptr<Connection> connection_;
  std::int32_t partition_count_;
  std::int32_t next_partition_ = 0;
  BatchAccumulator accumulator_;

  std::deque<InFlight> in_flight_;
  std::uint64_t sent_ = 0;                     // batches handed to the connection, in the order of sealing
  std::uint64_t completed_ = 0;                // batches whose outcome is reported (NONE: fenced)
  std::optional<std::uint64_t> fence_at_;      // ask for METADATA once so many are sent
  std::optional<std::uint64_t> transmitting_;  // the batch that is being sent just now
  bool receiving_ = false;                     // the receiver waits in the connection
  std::optional<Failure> receive_end_;         // why the connection can receive no more
  std::optional<Failure> loss_;                // of the connection, until there is a new one
  bool proven_ = true;  // this connection has answered; before that one batch at a time risks its outcome

  bool closing_ = false;
  std::optional<Failure> failure_;        // the end of this producer
  std::optional<Failure> first_refusal_;  // since the last flush

  env::Event work_;      // for the sender
  env::Event answers_;   // for the receiver
  env::Event progress_;  // for callers
  env::WaitGroup fibers_;
};

}  // namespace booblik::client
