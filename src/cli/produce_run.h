// The work of `booblik produce`, behind its options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/client_command.h"
#include "cli/record_reader.h"
#include "client/producer.h"
#include "wire/protocol.h"

namespace booblik::cli {

struct ProduceOptions {
  BrokerOptions broker;
  std::string topic;
  std::vector<std::string> files;  // none: standard input
  InputMode input = InputMode::lines;
  std::optional<std::string> key;            // of every record
  std::optional<std::string> key_delimiter;  // the key is what stands before it in the record
  bool keep_key = false;                     // the record keeps its key and the delimiter
  std::optional<std::int32_t> partition;
  wire::AckPolicy acks = wire::AckPolicy::written;
  std::int64_t batch_bytes = 128 * 1024;
  std::int32_t batch_records = 100'000;
  std::int64_t linger_ms = 0;
  std::int32_t in_flight = 16;
  bool skip_empty = false;
  bool quiet = false;
};

// Sends everything and prints the summary. Parks.
ExitCode run_produce(const ClientContext& context, const ProduceOptions& options);

}  // namespace booblik::cli
