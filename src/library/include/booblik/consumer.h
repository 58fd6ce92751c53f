// Reads one partition, in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <booblik/client.h>
#include <booblik/export.h>
#include <booblik/outcome.h>

namespace booblik {

namespace library {
class ConsumerBridge;
}

struct Record {
  std::int64_t offset = 0;
  std::string_view value;  // borrowed, as the batch says
};

// Whole records with verified checksums, in the order of their offsets, without holes. The records and their
// bytes are the consumer's: they live until its next poll, follow or replay, or its end. Copy what you keep.
class RecordBatch {
 public:
  RecordBatch(const Record* records, std::size_t count, std::int64_t next, std::int64_t high_watermark)
      : records_(records), count_(count), next_(next), high_watermark_(high_watermark) {}

  [[nodiscard]] const Record* begin() const noexcept { return records_; }
  [[nodiscard]] const Record* end() const noexcept { return records_ + count_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  const Record& operator[](std::size_t index) const noexcept { return records_[index]; }

  // The position behind this batch: what to store when the batch is done.
  [[nodiscard]] std::int64_t next_offset() const noexcept { return next_; }
  // The end of the log when the broker answered; next_offset() == high_watermark() means caught up.
  [[nodiscard]] std::int64_t high_watermark() const noexcept { return high_watermark_; }

 private:
  const Record* records_;
  std::size_t count_;
  std::int64_t next_;
  std::int64_t high_watermark_;
};

enum class StartAt {
  beginning,   // the oldest record that is there
  end,         // the next record that will be written
  offset,      // start_number
  before_end,  // start_number records before the end, or the beginning if there are fewer
};

struct ConsumerOptions {
  std::string topic;
  std::int32_t partition = 0;
  StartAt start_at = StartAt::beginning;
  std::int64_t start_number = 0;
  std::int32_t max_bytes = 1024 * 1024;    // of one answer's records with their headers: 1 to 8 388 590
  std::chrono::milliseconds hold{30'000};  // how long follow lets the broker hold one request, up to 60 s
  OnConnection on_connection;
};

// The position is the program's to see, to set and to store (position_store.h): the broker remembers none.
//
// Thread safety: one thread at a time; interrupt() from any.
//
// After a loss the consumer connects again and goes on at its position: while the broker is away, the calls
// wait for it, and every record comes once and in order all the same.
//
// Failures of poll, follow and replay: log_reset, offset_out_of_range, record_exceeds_max_bytes and
// corrupt_record leave the position where it was and the consumer in order, so that the program may seek;
// records before the bad one were returned by the call before. Every other failure is the end of this
// consumer and comes again: closed (interrupted), unreachable, lost and timed_out (reconnecting is off, or it
// gave up), bad_answer, refused and topic_changed.
class BOOBLIK_API Consumer {
 public:
  // Connects and finds where to begin.
  // Failures: invalid, unreachable, lost, timed_out, bad_answer, refused (no such topic or partition).
  [[nodiscard]] static Outcome<Consumer> open(const Client& client, ConsumerOptions options);

  ~Consumer();
  Consumer(Consumer&& other) noexcept;
  Consumer& operator=(Consumer&& other) noexcept;

  // What is there at the position; an empty batch means caught up. One round trip.
  [[nodiscard]] Outcome<RecordBatch> poll();

  // Waits at the broker until there are records; an empty batch when `timeout` has passed, also because the
  // broker is away (then up to connect_timeout later).
  [[nodiscard]] Outcome<RecordBatch> follow(std::chrono::milliseconds timeout);
  // As long as it takes.
  [[nodiscard]] Outcome<RecordBatch> follow();

  // As poll, but ends where the log ended when the consumer was opened: an empty batch means that all up to
  // there are read, however much was written since.
  [[nodiscard]] Outcome<RecordBatch> replay();

  // The offset of the next record that a call will return.
  [[nodiscard]] std::int64_t position() const noexcept;
  void seek(std::int64_t offset) noexcept;

  // Of the log, when the consumer was opened.
  [[nodiscard]] std::int64_t start_offset() const noexcept;
  [[nodiscard]] std::int64_t end_offset() const noexcept;

  // Makes the call that is waiting, and every later one, fail with `closed`. From any thread, also from a
  // callback.
  void interrupt() noexcept;

 private:
  explicit Consumer(std::unique_ptr<library::ConsumerBridge> bridge);

  std::unique_ptr<library::ConsumerBridge> bridge_;
};

}  // namespace booblik
