// Reads one partition, in order. The position is the caller's to see and to set; it is stored nowhere
// (client/position_store.h does that). After a loss the consumer connects again and goes on at its position:
// a FETCH changes nothing, so every record comes once and in order all the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "client/address.h"
#include "client/connection.h"
#include "client/failure.h"
#include "client/reconnector.h"
#include "client/record_splitter.h"
#include "client/roles.h"
#include "wire/response.h"

namespace booblik::client {

// Where to begin.
struct Start {
  enum class At {
    beginning,   // the oldest record that is there
    end,         // the next record that will be written
    offset,      // `number`
    before_end,  // `number` records before the end, or the beginning if there are fewer
  };

  At at = At::beginning;
  std::int64_t number = 0;  // at least 0
};

// Where that is in a partition.
[[nodiscard]] Offset first_position(const Start& start, const wire::PartitionMetadata& partition);

struct ConsumerOptions {
  Address broker;
  std::string topic;
  PartitionId partition;
  Start start;
  std::int32_t max_bytes = 1024 * 1024;  // of one answer's payload, 1 to wire::kMaxFetchPayloadBytes
  Duration connect_timeout = std::chrono::seconds(5);
  Duration request_timeout =
      std::chrono::seconds(30);            // beyond the time that the broker was asked to hold the request
  std::chrono::milliseconds hold{30'000};  // how long follow lets the broker hold one request
  ReconnectOptions reconnect = {};
  OnConnection on_connection = {};
};

// Whole records with verified checksums; the views live until the next call of the consumer.
struct ConsumedBatch {
  std::span<const Record> records;
  Offset next;            // the position after this batch
  Offset high_watermark;  // the end of the log when the broker answered last
};

class Consumer {
 public:
  // Connects, once, and finds where to begin. Parks.
  static Outcome<std::unique_ptr<Consumer>> open(Roles roles, ConsumerOptions options);

  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // What is there at the position; no records means caught up. Parks.
  Outcome<ConsumedBatch> poll();

  // Waits at the broker until there are records; no records when the deadline has passed (while it has no
  // connection, up to connect_timeout later). Parks.
  Outcome<ConsumedBatch> follow(Deadline deadline);

  // As poll, but ends where the log ended when the consumer was opened: no records means that all up to there
  // are read, however much was written since. Parks.
  Outcome<ConsumedBatch> replay();

  // While the broker is away, the three wait for it. Their failures: log_reset, offset_out_of_range,
  // record_exceeds_max_bytes and corrupt_record leave the position where it was and the consumer in order, so
  // the caller may seek; records before the bad one were returned by the call before. log_reset stays until a
  // seek, lest the log grow over the position again and a gap go unseen. Every other failure is the end of
  // this consumer and comes again: unreachable, lost and timed_out (reconnecting is off, or it gave up),
  // bad_answer, refused and topic_changed.

  [[nodiscard]] Offset position() const { return position_; }
  void seek(Offset position) {
    position_ = position;
    reset_.reset();
  }

  [[nodiscard]] bool connected() const { return connection_ != nullptr; }
  // How many times it has connected again.
  [[nodiscard]] std::uint64_t reconnects() const { return reconnector_.connections(); }

  // Of the log, when the consumer was opened.
  [[nodiscard]] Offset start_offset() const { return opened_at_.log_start; }
  [[nodiscard]] Offset end_offset() const { return opened_at_.high_watermark; }

  // Makes the call that is waiting, and every later one, fail with `closed`. From another fiber.
  void interrupt();

 private:
  Consumer(Roles roles, ConsumerOptions options, std::unique_ptr<Connection> connection,
           wire::PartitionMetadata opened_at);

  // Asks until there is an answer, or no connection until `deadline`; with `hold` the broker may hold the
  // request that long.
  Outcome<ConsumedBatch> fetch(Deadline deadline, bool hold);
  Outcome<ConsumedBatch> fetch_once(std::chrono::milliseconds wait);
  // False: not by `deadline`.
  Outcome<bool> reconnect(Deadline deadline);
  [[nodiscard]] std::chrono::milliseconds hold_until(Deadline deadline) const;
  [[nodiscard]] std::unexpected<Failure> corrupt(std::string_view reason) const;
  std::unexpected<Failure> note_reset(const wire::PartitionMetadata& now);
  [[nodiscard]] std::unexpected<Failure> interrupted() const;
  Outcome<wire::FetchResponse> fetch_bytes(std::int32_t max_bytes, std::chrono::milliseconds wait);
  Outcome<Connection::Answer> ask(std::int32_t max_bytes, std::chrono::milliseconds wait);
  Outcome<ConsumedBatch> take(const wire::FetchResponse& answer);
  std::unexpected<Failure> explain_out_of_range();
  std::unexpected<Failure> explain_oversized(std::optional<std::int32_t> record_bytes);
  [[nodiscard]] std::string where() const;

  Roles roles_;
  ConsumerOptions options_;
  Reconnector reconnector_;
  std::unique_ptr<Connection> connection_;  // null: lost
  wire::PartitionMetadata opened_at_;
  Offset position_;
  Offset high_watermark_;           // told last
  std::optional<Failure> failure_;  // the end of this consumer
  std::optional<Failure> reset_;    // until a seek
  bool interrupted_ = false;
  std::vector<Record> records_;
  std::vector<std::byte> request_;
};

}  // namespace booblik::client
