// Writes records to one topic, from any number of threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include <booblik/client.h>
#include <booblik/export.h>
#include <booblik/outcome.h>

namespace booblik {

namespace library {
class ProducerBridge;
}

// When the broker answers, and so what an acknowledged record survives.
enum class Acks : std::int8_t {
  none = 0,     // never: `handed_over` says only that the system has taken the bytes
  written = 1,  // in the file: it survives the broker's process, not a power cut
  forced = 2,   // on the disk, behind a barrier: it survives a power cut
};

// What became of a record, or of a batch of them.
enum class Delivered {
  acknowledged,  // written or forced, as asked
  handed_over,   // Acks::none: the system has it, nobody will say more
  refused,       // the broker said no: nothing of it was written
  unknown,       // sent, but no answer came: it was written or it was not. Sending it again may duplicate it.
  not_sent,      // nothing of it was written
};

[[nodiscard]] BOOBLIK_API std::string_view name_of(Delivered state) noexcept;

// Names an accepted record: the number counts the records of its partition that this producer has accepted,
// from 0.
struct Ticket {
  std::int32_t partition = 0;
  std::int64_t number = 0;
};

// What became of one record.
struct Receipt {
  Delivered state = Delivered::not_sent;
  std::int32_t partition = -1;  // -1: it was not accepted
  std::int64_t offset = -1;     // when acknowledged
  Failure failure;              // unless acknowledged or handed over

  explicit operator bool() const noexcept {
    return state == Delivered::acknowledged || state == Delivered::handed_over;
  }
};

// What became of the records number `first` to first + records - 1 of a partition; together they went in one
// request, or in none.
struct Delivery {
  Delivered state = Delivered::not_sent;
  std::int32_t partition = 0;
  std::int64_t first = 0;
  std::int64_t records = 0;
  std::int64_t base_offset = -1;     // when acknowledged: the offset of `first`; the others follow
  const Failure* failure = nullptr;  // unless acknowledged or handed over; lives as long as the call
};

// Both are called on the library's thread. They must be quick (all input and output of the client waits for
// them), must not throw (that ends the process, as on any thread), and may call try_send, but nothing of the
// library that waits: such a call fails with `invalid` there.
using OnDelivery = std::function<void(const Delivery&)>;
using OnReceipt = std::function<void(const Receipt&)>;

struct ProducerOptions {
  std::string topic;
  Acks acks = Acks::written;

  // A batch goes out when it has so many bytes or records, or when its first record is `linger` old.
  std::size_t batch_bytes = 128 * 1024;
  std::int32_t batch_records = 100'000;
  std::chrono::microseconds linger{1'000};
  std::int32_t in_flight_max = 16;  // requests sent and not answered

  // Of records accepted and not sent yet; beyond it send waits, up to send_timeout, and try_send fails.
  // In flight are up to in_flight_max batches more.
  std::size_t buffered_bytes_max = 16 * 1024 * 1024;
  std::chrono::milliseconds send_timeout{60'000};

  OnConnection on_connection;
  OnDelivery on_delivery;  // called once for each batch; every accepted record is in exactly one
};

// Every accepted record has exactly one outcome, which on_delivery and the record's own callback or future
// are told. Nothing is sent twice: what is not known to be written is reported as unknown, and the program
// decides. The records of one partition are written in the order in which they were accepted.
//
// After a loss the producer connects again (ClientOptions::reconnect): what had been sent without an answer
// is reported as unknown, what had not been sent yet goes out over the new connection, in its order.
//
// Thread safety: all calls, from any thread; except that moving and destroying need the object alone.
class BOOBLIK_API Producer {
 public:
  // Connects and asks for the topic's partitions.
  // Failures: invalid, unreachable, lost, timed_out, bad_answer, refused (no such topic).
  [[nodiscard]] static Outcome<Producer> open(const Client& client, ProducerOptions options);

  // Drops what close() has not seen through, at once, and reports it: every callback has run and every future
  // is ready when it returns. Call close() first to lose nothing. (In a callback: it returns at once.)
  ~Producer();
  Producer(Producer&& other) noexcept;
  Producer& operator=(Producer&& other) noexcept;

  [[nodiscard]] std::int32_t partition_count() const noexcept;

  // Each copies `value` and returns before it is sent: an accepted record is in memory only. `on_receipt` is
  // called exactly once if, and only if, the record was accepted.
  // Failures, when nothing was accepted: invalid (an empty record, one that no request can carry, a partition
  // that does not exist), buffer_full (after send_timeout), closed; any other is the end of this
  // producer: unreachable, lost, timed_out (reconnecting is off, or it gave up), bad_answer, refused (the
  // topic is gone), topic_changed.
  Outcome<Ticket> send(std::string_view value, OnReceipt on_receipt = {});  // round robin
  // By the key's hash (FNV-1a); the key itself does not travel.
  Outcome<Ticket> send_keyed(std::string_view key, std::string_view value, OnReceipt on_receipt = {});
  Outcome<Ticket> send_to(std::int32_t partition, std::string_view value, OnReceipt on_receipt = {});

  // The same without waiting: buffer_full when there is no room now.
  Outcome<Ticket> try_send(std::string_view value, OnReceipt on_receipt = {});
  Outcome<Ticket> try_send_keyed(std::string_view key, std::string_view value, OnReceipt on_receipt = {});
  Outcome<Ticket> try_send_to(std::int32_t partition, std::string_view value, OnReceipt on_receipt = {});

  // The same with a future, which is always made ready: a record that was not accepted is not_sent.
  [[nodiscard]] std::future<Receipt> send_future(std::string_view value);
  [[nodiscard]] std::future<Receipt> send_keyed_future(std::string_view key, std::string_view value);
  [[nodiscard]] std::future<Receipt> send_to_future(std::int32_t partition, std::string_view value);

  // Sends what is gathered and returns when the outcome of every record accepted before is known and its
  // callbacks have run; with Acks::none when the broker has taken them. On success all of them are written or
  // forced, as asked. Failure: of the first batch since the last flush that was not. Waits at most about
  // request_timeout behind the last answer, or until reconnecting gives up.
  Outcome<void> flush();

  // Accepts no more (senders that wait get `closed`), flushes and ends. Later calls fail with `closed`.
  Outcome<void> close();

 private:
  explicit Producer(std::unique_ptr<library::ProducerBridge> bridge);

  std::unique_ptr<library::ProducerBridge> bridge_;
};

}  // namespace booblik
