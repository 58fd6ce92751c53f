// The protocol's own requests over one connection, for programs that need no more: tools, tests, bridges.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <booblik/client.h>
#include <booblik/export.h>
#include <booblik/outcome.h>
#include <booblik/producer.h>

namespace booblik {

namespace library {
class Pipeline;
}

struct ProduceRequest {
  std::string_view topic;
  std::int32_t partition = 0;
  Acks acks = Acks::written;
  std::vector<std::string_view> records;  // at least one, none empty
};

struct ProduceAnswer {
  std::int64_t base_offset = -1;     // of the first record; the others follow. -1 with Acks::none
  std::int64_t log_end_offset = -1;  // the first offset behind the log. -1 with Acks::none
};

struct FetchRequest {
  std::string_view topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::int32_t max_bytes = 1024 * 1024;
  std::chrono::milliseconds max_wait{0};  // hold the request until there are min_bytes; 0: answer at once
  std::int32_t min_bytes = 0;
};

struct FetchAnswer {
  std::int64_t high_watermark = 0;
  std::string payload;                 // owned: stored records as they are on disk, possibly cut at the end
  std::vector<std::string> records;    // the whole, sound ones, copied out
  std::int64_t tail_record_bytes = 0;  // of the incomplete record behind them, if its size is there
  bool corrupt = false;                // the record behind `records` does not match its checksum
};

// A pipeline: any number of threads may have requests outstanding, and each is answered exactly once, in the
// order of the protocol. Requests take effect in the order in which they were taken over. A call that waits
// blocks its own thread only; but a FETCH that is held delays the answers behind it.
//
// When the connection breaks or an answer is late, every request without an answer fails (Failure::maybe_done
// says whether it may have been carried out), and so does every later one. There is no reconnect: open
// another.
//
// Thread safety: all calls, from any thread; except that moving and destroying need the object alone.
class BOOBLIK_API Connection {
 public:
  // Failures: unreachable, timed_out.
  [[nodiscard]] static Outcome<Connection> open(const Client& client);

  // Requests that have no answer fail with `closed`; their callbacks have run when it returns.
  ~Connection();
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;

  // With Acks::written or forced the records are, on success, written or forced. With Acks::none success says
  // that the system has taken the bytes. Waits for the answer.
  // Failures: invalid, refused, lost, timed_out, bad_answer, closed.
  Outcome<ProduceAnswer> produce(const ProduceRequest& request);
  Outcome<FetchAnswer> fetch(const FetchRequest& request);
  Outcome<std::vector<TopicInfo>> metadata(const std::vector<std::string>& names = {});

  // The same without waiting for the answer: the callback gets it on the library's thread, exactly once, also
  // when the request could not be sent. The rules of producer.h for callbacks hold. Waits only while too many
  // requests are outstanding (1024).
  void produce(const ProduceRequest& request, std::function<void(Outcome<ProduceAnswer>)> done);
  void fetch(const FetchRequest& request, std::function<void(Outcome<FetchAnswer>)> done);

 private:
  explicit Connection(std::unique_ptr<library::Pipeline> pipeline);

  std::unique_ptr<library::Pipeline> pipeline_;
};

// Which partition a key belongs to: FNV-1a, 32 bit, over the key's bytes, then an unsigned remainder. Every
// client of every language agrees on it. -1 when partition_count is not above 0.
[[nodiscard]] BOOBLIK_API std::int32_t partition_for_key(std::string_view key,
                                                         std::int32_t partition_count) noexcept;

}  // namespace booblik
