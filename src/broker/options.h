// Everything that can be set about a broker. The defaults here are the documented ones
// (docs/configuration.md); src/cli reads flags, environment and file into this struct.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace booblik::broker {

struct Options {
  std::string bind_address = "127.0.0.1";  // no authentication, hence loopback
  std::uint16_t port = 9092;
  std::string data_directory = "./data";
  std::map<std::string, std::int32_t> topics{{"default", 1}};  // name to partition count

  std::int64_t segment_capacity_bytes = 512LL * 1024 * 1024;  // the original's
  std::int64_t index_interval_bytes = 4096;

  // WRITTEN and NONE data is synced in the background after so many records, so much time, or so many bytes,
  // whichever is first. nullopt: no bound of that kind.
  std::optional<std::int64_t> flush_every_records;
  std::optional<std::chrono::milliseconds> flush_every{1000};
  std::int64_t flush_every_bytes = 64LL * 1024 * 1024;  // bounds dirty pages, which stall everyone's barriers

  std::optional<std::int64_t> retention_bytes;  // per partition; nullopt keeps everything
  std::optional<std::chrono::milliseconds> retention_age;
  std::chrono::milliseconds retention_check_every{60'000};

  std::chrono::milliseconds metrics_every{10'000};  // 0: no rate line

  // Limits.
  std::int64_t connections_max = 1000;
  std::int64_t request_memory_bytes_max = 256LL * 1024 * 1024;  // for requests being received or written
  std::int64_t pipelined_requests_max = 4096;                   // per connection, answered in order
  std::int64_t held_fetches_max = 10'000;
  std::chrono::milliseconds frame_timeout{30'000};  // from the first byte of a frame to its last
  // While others wait for memory: a started frame that brings less than 64 KiB in so long is cut.
  std::chrono::milliseconds stall_time{1'000};
  std::chrono::milliseconds send_timeout{30'000};  // a send that makes no progress for so long
  std::chrono::milliseconds shutdown_timeout{10'000};
  std::int64_t open_segment_files_max = 64;
  std::int64_t index_cache_bytes_max = 32LL * 1024 * 1024;
};

}  // namespace booblik::broker
