// A client of the workload that writes through client::Producer, and holds each outcome that it reports
// against the model: acknowledged is there, at that offset; refused and not sent are absent; unknown and
// handed over are either; each record is told of once, in its partition's order.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "client/producer.h"
#include "sim/library_client.h"

namespace booblik::sim {

class LibraryProducer : private LibraryClient {
 public:
  LibraryProducer(Workload& workload, std::uint64_t number);

  // Until the load is over.
  void run();

 private:
  [[nodiscard]] client::ProducerOptions draw_options();
  void use(client::Producer& producer);
  void send_one(client::Producer& producer);
  void flush(client::Producer& producer);
  void begin_flush_span();
  void check_fence();
  // The number in the model of a partition of the producer's topic.
  [[nodiscard]] std::size_t in_model(std::size_t index) const {
    return (topic_ * static_cast<std::size_t>(workload_.plan.partitions)) + index;
  }
  void end(std::unique_ptr<client::Producer> producer);
  void take(const client::Delivery& delivery);
  void take_record(AttemptNumber attempt, const client::Delivery& delivery, std::int64_t index);

  std::size_t topic_ = 0;
  bool ended_ = false;  // this producer takes no more
  wire::AckPolicy acks_ = wire::AckPolicy::written;
  std::vector<std::deque<AttemptNumber>> untold_;         // of this producer, by partition
  std::vector<std::optional<std::uint64_t>> last_batch_;  // told, by partition
  std::vector<std::int64_t> next_base_;                   // at least, by partition
  std::vector<std::uint64_t> base_epoch_;                 // of next_base_
  // Since the last flush.
  std::int64_t not_as_asked_ = 0;          // batches whose records are unknown, or were not sent
  std::vector<std::int64_t> handed_over_;  // records, by partition
  std::vector<std::int64_t> ends_;         // known when it was over, by partition
  std::uint64_t ends_epoch_ = 0;           // of the model, then
  std::uint64_t connection_number_ = 0;    // over all clients of the run
  std::uint64_t connections_seen_ = 0;
};

}  // namespace booblik::sim
