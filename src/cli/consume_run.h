// The work of `booblik consume`, behind its options.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/client_command.h"
#include "cli/record_format.h"
#include "cli/standard_streams.h"
#include "client/consumer.h"
#include "env/sync.h"

namespace booblik::cli {

struct ConsumeOptions {
  BrokerOptions broker;
  std::string topic;
  client::Start start;
  std::optional<std::int32_t> partition;  // none: all
  std::optional<std::int64_t> count;      // end after so many records
  bool exit_at_end = false;               // end where the log ended at the start; otherwise wait for more
  std::int32_t max_bytes = 1024 * 1024;
};

// Reads the partitions and prints their records. One run, then it is done.
class Consumption {
 public:
  Consumption(const ClientContext& context, const ConsumeOptions& options, RecordFormat format);
  Consumption(const Consumption&) = delete;
  Consumption& operator=(const Consumption&) = delete;

  // Parks.
  ExitCode run();

 private:
  client::Outcome<std::vector<PartitionId>> partitions();
  client::Outcome<void> run_one(PartitionId partition);
  client::Outcome<void> read_all(client::Consumer& consumer, PartitionId partition);
  void run_side_by_side(const std::vector<PartitionId>& partitions);
  client::Outcome<void> print(const client::ConsumedBatch& batch, PartitionId partition);
  client::Outcome<void> flush(bool everything);
  // Ends all readers; what they then return is no failure.
  void stop();
  ExitCode finish(const client::Outcome<void>& outcome);

  const ClientContext& context_;
  const ConsumeOptions& options_;
  RecordFormat format_;
  StandardOutput output_;
  std::vector<client::Consumer*> reading_;
  std::optional<std::int64_t> left_;  // of options_.count
  bool stopped_ = false;
  client::Outcome<void> first_failure_;
};

}  // namespace booblik::cli
