// The work of `booblik consume`, behind its options.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/client_command.h"
#include "cli/progress.h"
#include "cli/record_format.h"
#include "cli/standard_streams.h"
#include "client/consumer.h"
#include "client/position_store.h"
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
  std::optional<std::string> position_store;  // a file; where it has a position, that is the start
};

// Reads the partitions and prints their records. One run, then it is done. A position is stored after the
// records before it were written to standard output: every second or so, and at the end.
class Consumption {
 public:
  Consumption(const ClientContext& context, const ConsumeOptions& options, RecordFormat format);
  Consumption(const Consumption&) = delete;
  Consumption& operator=(const Consumption&) = delete;

  // Parks.
  ExitCode run();

 private:
  using Partitions = std::vector<wire::PartitionMetadata>;

  ExitCode run(const Partitions& wanted);
  client::Outcome<Partitions> partitions();
  client::Outcome<void> open_store();
  // Where to begin.
  client::Outcome<client::Start> start_of(PartitionId partition);
  client::Outcome<std::int64_t> planned_records(const Partitions& wanted);
  client::Outcome<void> run_one(PartitionId partition);
  client::Outcome<void> read_all(client::Consumer& consumer, PartitionId partition);
  void run_side_by_side(const Partitions& partitions);
  client::Outcome<void> print(const client::ConsumedBatch& batch, PartitionId partition);
  client::Outcome<void> flush();
  client::Outcome<void> save_positions();
  [[nodiscard]] bool save_is_due() const;
  // Ends all readers; what they then return is no failure.
  void stop();
  ExitCode finish(const client::Outcome<void>& outcome);

  const ClientContext& context_;
  const ConsumeOptions& options_;
  RecordFormat format_;
  StandardOutput output_;
  std::unique_ptr<client::FilePositionStore> store_;  // null: none is wanted
  std::map<PartitionId, Offset> taken_;               // up to here records were given to output_
  std::map<PartitionId, Offset> written_;             // up to here they were written
  std::map<PartitionId, Offset> saved_;
  Instant last_save_;
  std::unique_ptr<Progress> progress_;
  std::vector<client::Consumer*> reading_;
  std::optional<std::int64_t> left_;  // of options_.count
  bool stopped_ = false;
  client::Outcome<void> first_failure_;
};

}  // namespace booblik::cli
