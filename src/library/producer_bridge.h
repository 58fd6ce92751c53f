// A producer for threads in front of client::Producer, which is for fibers.
//
// User threads copy records into a queue under a lock. A fiber, the pump, takes the whole queue and hands it
// to the producer. It is woken when the first record comes and when a batch is full, never for each record;
// while it works, what comes meanwhile waits for its next round. Outcomes go the other way through an outbox
// that is emptied on the reactor's own stack: callbacks get its size, not a fiber's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <booblik/producer.h>

#include "client/producer.h"
#include "env/sync.h"
#include "library/reactor_thread.h"
#include "library/record_queue.h"
#include "library/translate.h"

namespace booblik::library {

class ProducerBridge {
 public:
  enum class Choice { round_robin, key, partition };
  struct Target {
    Choice choice = Choice::round_robin;
    std::string_view key;
    std::int32_t partition = 0;
  };

  [[nodiscard]] static Outcome<std::unique_ptr<ProducerBridge>> open(std::shared_ptr<ClientState> client,
                                                                     ProducerOptions options);
  // end() has returned.
  ~ProducerBridge() = default;

  [[nodiscard]] std::int32_t partition_count() const { return partition_count_; }
  [[nodiscard]] ReactorThread& thread() const { return *client_->thread; }

  // From any thread; waits for room if `may_wait` (never on the reactor's own thread).
  Outcome<Ticket> send(const Target& target, std::string_view value, OnReceipt& on_receipt, bool may_wait);
  Outcome<void> flush();
  Outcome<void> close();

  // On a fiber of the reactor: stops everything, reports what is left. Parks.
  void end();

 private:
  enum class Pump {
    idle,       // waits for a record
    gathering,  // waits for a full batch, or for the first record to be old enough
    working,    // will look at the queue again by itself
  };

  struct Report {
    Delivery delivery;
    Failure failure;
  };

  ProducerBridge(std::shared_ptr<ClientState> client, ProducerOptions options);

  // Of user threads, under the lock.
  [[nodiscard]] bool has_room(std::size_t bytes) const;
  [[nodiscard]] std::int32_t choose(const Target& target);
  [[nodiscard]] Failure no_room() const;
  Outcome<void> wait_for_room(std::unique_lock<std::mutex>& lock, std::size_t bytes, bool may_wait);
  [[nodiscard]] bool wake_is_due();
  void wake_pump();
  void accept(const Ticket& ticket, std::string_view value, OnReceipt& on_receipt);

  // Of the reactor's fibers.
  Outcome<void> start();
  void run_pump();
  bool take();
  void gather();
  void feed(PartitionId partition, Bytes value);
  void reject(PartitionId partition, std::int64_t number, const client::Failure& failure);
  void report_rejected();
  void on_delivery(const client::Delivery& delivery);
  void put_out(Delivery delivery, Failure failure);
  void wait_until_fed();
  Outcome<void> flush_on_reactor(bool close);

  // Of the reactor's own stack.
  void tell();
  void tell_one(Delivery delivery, const Failure& failure);

  std::shared_ptr<ClientState> client_;
  ProducerOptions options_;
  std::int32_t partition_count_ = 0;
  std::size_t payload_bytes_max_ = 0;
  std::size_t queue_bytes_max_ = 0;
  std::size_t gather_bytes_ = 0;  // so much is worth a round of the pump
  Duration gather_time_{0};

  // Shared by the threads, under the lock.
  std::mutex mutex_;
  std::condition_variable room_;
  std::int32_t waiting_for_room_ = 0;
  RecordQueue queue_;
  Pump pump_ = Pump::idle;
  std::int32_t flushes_ = 0;  // so many wait for the pump: it does not gather
  std::int32_t next_partition_ = 0;
  std::vector<std::int64_t> accepted_;  // by partition
  std::int64_t accepted_records_ = 0;
  std::optional<Failure> ended_;                                         // why no more is accepted
  std::map<std::pair<std::int32_t, std::int64_t>, OnReceipt> receipts_;  // by ticket

  // The reactor's alone.
  std::unique_ptr<client::Producer> producer_;
  RecordQueue taken_;
  std::vector<std::int64_t> fed_;  // by partition
  std::int64_t fed_records_ = 0;
  std::map<std::uint64_t, std::int64_t> batch_first_;  // number of each open batch's first record
  std::optional<std::uint64_t> told_while_feeding_;
  std::map<std::int32_t, Report> rejected_;  // by partition: records in a row, for one report
  std::optional<Failure> first_rejection_;   // since the last flush
  std::deque<Report> outbox_;
  bool telling_ = false;
  bool stopping_ = false;
  std::unique_ptr<env::Event> pump_wanted_;
  std::unique_ptr<env::Event> progress_;
  std::unique_ptr<env::WaitGroup> pump_fiber_;
};

}  // namespace booblik::library
