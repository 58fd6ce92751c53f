// Reads one partition, in order. The position is the caller's to see and to set; nothing about it is stored
// anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "client/address.h"
#include "client/connection.h"
#include "client/failure.h"
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
};

// Whole records with verified checksums; the views live until the next call of the consumer.
struct ConsumedBatch {
  std::span<const Record> records;
  Offset next;            // the position after this batch
  Offset high_watermark;  // the end of the log when the broker answered
};

class Consumer {
 public:
  // Connects and finds where to begin. Parks.
  static Outcome<std::unique_ptr<Consumer>> open(Roles roles, ConsumerOptions options);

  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // What is there at the position; no records means caught up. Parks.
  Outcome<ConsumedBatch> poll();

  // Waits at the broker until there are records; no records when the deadline has passed. Parks.
  Outcome<ConsumedBatch> follow(Deadline deadline);

  // As poll, but ends where the log ended when the consumer was opened: no records means that all up to there
  // are read, however much was written since. Parks.
  Outcome<ConsumedBatch> replay();

  // Failures of the three: log_reset, offset_out_of_range, record_exceeds_max_bytes and corrupt_record leave
  // the position where it was and the consumer in order, so the caller may seek; records before the bad one
  // were returned by the call before. lost, timed_out and bad_answer are the end of this consumer.

  [[nodiscard]] Offset position() const { return position_; }
  void seek(Offset position) { position_ = position; }

  // Of the log, when the consumer was opened.
  [[nodiscard]] Offset start_offset() const { return opened_at_.log_start; }
  [[nodiscard]] Offset end_offset() const { return opened_at_.high_watermark; }

  // Makes the call that is waiting, and every later one, fail with `closed`. From another fiber.
  void interrupt();

 private:
  Consumer(Roles roles, ConsumerOptions options, std::unique_ptr<Connection> connection,
           wire::PartitionMetadata opened_at);

  Outcome<ConsumedBatch> fetch(std::chrono::milliseconds wait);
  Outcome<Connection::Answer> ask(std::int32_t max_bytes, std::chrono::milliseconds wait);
  Outcome<ConsumedBatch> take(const wire::FetchResponse& answer);
  Outcome<ConsumedBatch> explain_out_of_range();
  Outcome<ConsumedBatch> explain_oversized(std::optional<std::int32_t> record_bytes);
  [[nodiscard]] std::string where() const;

  Roles roles_;
  ConsumerOptions options_;
  std::unique_ptr<Connection> connection_;
  wire::PartitionMetadata opened_at_;
  Offset position_;
  bool interrupted_ = false;
  std::vector<Record> records_;
  std::vector<std::byte> request_;
};

}  // namespace booblik::client
