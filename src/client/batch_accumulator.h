// Gathers records into PRODUCE frames, one open batch per partition. Knows nothing of the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "env/clock.h"
#include "wire/request_encoder.h"

namespace booblik::client {

// Names a record until its offset is known: its batch, and its place in it.
struct Ticket {
  std::uint64_t batch = 0;
  std::int32_t index = 0;

  auto operator<=>(const Ticket&) const = default;
};

struct Batch {
  std::uint64_t number = 0;
  PartitionId partition;
  wire::ProduceFrame frame;
};

class BatchAccumulator {
 public:
  // A batch is sealed when its frame has so many bytes, or it has so many records.
  struct Limits {
    std::size_t frame_bytes = 0;
    std::int32_t records = 0;
  };

  BatchAccumulator(const env::Clock& clock, std::string topic, std::int32_t partition_count,
                   wire::AckPolicy acks, Limits limits);

  // The largest payload that add takes.
  [[nodiscard]] std::size_t payload_bytes_max() const { return payload_bytes_max_; }

  // `partition` exists; `payload` is not empty and at most payload_bytes_max().
  Ticket add(PartitionId partition, Bytes payload);

  // Seals every open batch that was opened at `instant` or before.
  void seal_opened_until(Instant instant);
  void seal_all();
  // When the oldest open batch got its first record.
  [[nodiscard]] std::optional<Instant> oldest_opened() const;

  // In the order of sealing; null when there is none.
  [[nodiscard]] std::unique_ptr<Batch> take_sealed();
  // A batch that was taken last and has not gone: it is the next to be taken again.
  void put_back(std::unique_ptr<Batch> batch);
  // A batch that is no longer needed: its memory is used again.
  void recycle(std::unique_ptr<Batch> batch);

  [[nodiscard]] bool has_sealed() const { return !sealed_.empty(); }
  [[nodiscard]] bool empty() const { return sealed_.empty() && open_order_.empty(); }
  // How many batches were ever sealed.
  [[nodiscard]] std::uint64_t sealed_count() const { return sealed_count_; }
  // In open and sealed batches.
  [[nodiscard]] std::size_t buffered_bytes() const { return buffered_bytes_; }

 private:
  struct Slot {
    std::unique_ptr<Batch> batch;  // null: no open batch
    Instant opened;
    std::list<std::size_t>::iterator place;  // in open_order_
  };

  void open(std::size_t partition);
  void seal(std::size_t partition);

  const env::Clock& clock_;
  std::string topic_;
  wire::AckPolicy acks_;
  Limits limits_;
  std::size_t payload_bytes_max_ = 0;
  std::vector<Slot> slots_;            // by partition
  std::list<std::size_t> open_order_;  // partitions with an open batch, the oldest first
  std::deque<std::unique_ptr<Batch>> sealed_;
  std::vector<std::unique_ptr<Batch>> spare_;
  std::uint64_t next_number_ = 0;
  std::uint64_t sealed_count_ = 0;
  std::size_t buffered_bytes_ = 0;
};

}  // namespace booblik::client
