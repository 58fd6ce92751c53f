// A client of the workload that reads through client::Consumer, keeps its position in a FilePositionStore,
// and holds what it gets against the model: every record once and in order, through losses, restarts of the
// broker and readers that begin anew where the store says; every error only when it is true.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/consumer.h"
#include "client/position_store.h"
#include "sim/library_client.h"

namespace booblik::sim {

class LibraryConsumer : private LibraryClient {
 public:
  LibraryConsumer(Workload& workload, std::uint64_t number);

  // Until the load is over.
  void run();

 private:
  [[nodiscard]] client::ConsumerOptions draw_options();
  void use(client::Consumer& consumer);
  [[nodiscard]] bool read(client::Consumer& consumer);
  void check_batch(const client::Consumer& consumer, const client::ConsumedBatch& batch);
  // Whether the consumer goes on after `failure`, which a seek may have helped over.
  [[nodiscard]] bool pass(client::Consumer& consumer, const client::Failure& failure);
  void check_bounds(const client::Failure& failure);
  // A reset is told again and again until the position is another; false: the consumer has ended.
  [[nodiscard]] bool is_told_again(client::Consumer& consumer);
  void lose_power();
  [[nodiscard]] bool resume();
  void save();
  void go_to(client::Consumer& consumer, std::int64_t position);

  env::Random habits_;
  env::Random power_;
  std::string path_;
  std::unique_ptr<client::FilePositionStore> store_;
  std::size_t partition_ = 0;  // of the model
  std::int64_t position_ = 0;  // of the next record
  std::int64_t saved_ = 0;
  std::uint64_t epoch_ = 0;  // before the call
  std::int64_t end_before_ = 0;
  std::size_t recoveries_before_ = 0;
  std::int64_t stuck_at_ = -1;  // the position at which the last reader gave up
};

}  // namespace booblik::sim
