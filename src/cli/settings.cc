#include "cli/settings.h"

#include <algorithm>
#include <array>

namespace booblik::cli {
namespace {

using broker::Options;

constexpr std::int64_t kKiB = 1LL << 10U;
constexpr std::int64_t kMiB = 1LL << 20U;
constexpr std::int64_t kTiB = 1LL << 40U;
constexpr std::int64_t kPiB = 1LL << 50U;
constexpr std::int64_t kManyRecords = 1'000'000'000'000'000;
// A century: far from the end of 64 bits of nanoseconds, in which deadlines are counted.
constexpr std::int64_t kCentury = 36'500LL * 86'400'000;
constexpr std::int64_t kDay = 86'400'000;

constexpr std::array kSettings = {
    Setting{.name = "bind.address",
            .target = &Options::bind_address,
            .help = "Address or host name to listen on. There is no authentication and no TLS: think before "
                    "it is wider than "
                    "loopback."},
    Setting{.name = "port",
            .target = &Options::port,
            .min = 0,
            .max = 65'535,
            .help = "TCP port to listen on; 0 lets the system choose, and the start-up lines name it."},
    Setting{
        .name = "data.dir",
        .target = &Options::data_directory,
        .help =
            "Directory of the logs. It is created if its parent exists; one broker at a time may use it."},
    Setting{.name = "topics",
            .target = &Options::topics,
            .help = "Topics and their partition counts, as `name:count,name:count`. Counts may grow between "
                    "runs, never shrink."},
    Setting{.name = "segment.capacity.bytes",
            .target = &Options::segment_capacity_bytes,
            .unit = Unit::bytes,
            .min = kKiB,
            .max = kTiB,
            .help = "Size at which a segment file is finished and the next begun. Retention removes whole "
                    "segments; no record "
                    "can be larger."},
    Setting{.name = "index.interval.bytes",
            .target = &Options::index_interval_bytes,
            .unit = Unit::bytes,
            .min = 64,
            .max = kTiB,
            .help = "One index entry in memory for about so many bytes of log: smaller finds an offset "
                    "faster and costs memory."},
    Setting{.name = "flush.every.records",
            .target = &Options::flush_every_records,
            .min = 1,
            .max = kManyRecords,
            .help = "Records that were not sent with acks FORCED are synced to disk after so many of them."},
    Setting{.name = "flush.every.millis",
            .target = &Options::flush_every,
            .unit = Unit::milliseconds,
            .min = 1,
            .max = kCentury,
            .help = "Records that were not sent with acks FORCED are synced to disk after so long."},
    Setting{.name = "flush.every.bytes",
            .target = &Options::flush_every_bytes,
            .unit = Unit::bytes,
            .min = 4 * kKiB,
            .max = kTiB,
            .help = "Records that were not sent with acks FORCED are synced to disk after so many bytes: it "
                    "bounds what the page "
                    "cache holds back, which slows down everyone's barriers."},
    Setting{
        .name = "retention.bytes",
        .target = &Options::retention_bytes,
        .unit = Unit::bytes,
        .min = 1,
        .max = kPiB,
        .help =
            "What each partition keeps: its oldest segments go while the rest still holds so many bytes."},
    Setting{.name = "retention.millis",
            .target = &Options::retention_age,
            .unit = Unit::milliseconds,
            .min = 1,
            .max = kCentury,
            .help = "A segment goes when nothing was appended to it for so long."},
    Setting{.name = "retention.check.millis",
            .target = &Options::retention_check_every,
            .unit = Unit::milliseconds,
            .min = 1,
            .max = kDay,
            .help = "How often retention looks for segments to remove."},
    Setting{.name = "metrics.interval.millis",
            .target = &Options::metrics_every,
            .unit = Unit::milliseconds,
            .min = 0,
            .max = kDay,
            .help = "How often a line with rates is printed; 0 prints none."},
    Setting{.name = "limit.connections",
            .target = &Options::connections_max,
            .min = 1,
            .max = 1'000'000,
            .help = "Connections at a time; the next one is closed at once."},
    Setting{.name = "limit.request.memory.bytes",
            .target = &Options::request_memory_bytes_max,
            .unit = Unit::bytes,
            .min = kMiB,
            .max = kTiB,
            .help = "Memory of all requests that are being received or written; beyond it the broker reads "
                    "no further until "
                    "some is free, and drops nothing."},
    Setting{.name = "limit.pipelined.requests",
            .target = &Options::pipelined_requests_max,
            .min = 1,
            .max = 1'000'000,
            .help = "Unanswered requests of one connection; beyond it the broker reads no further from it."},
    Setting{.name = "limit.held.fetches",
            .target = &Options::held_fetches_max,
            .min = 1,
            .max = 1'000'000,
            .help = "FETCH requests that wait for data at a time; the next one is answered at once, with "
                    "what there is."},
    Setting{.name = "limit.open.segment.files",
            .target = &Options::open_segment_files_max,
            .min = 1,
            .max = 1'000'000,
            .help = "Descriptors that are kept open for segments that are read and no longer written."},
    Setting{.name = "limit.index.cache.bytes",
            .target = &Options::index_cache_bytes_max,
            .unit = Unit::bytes,
            .min = 64 * kKiB,
            .max = kTiB,
            .help = "Memory for the indexes of segments that are no longer written."},
    Setting{.name = "limit.frame.millis",
            .target = &Options::frame_timeout,
            .unit = Unit::milliseconds,
            .min = 1,
            .max = kDay,
            .help = "A request has to arrive in so long, from its first byte to its last, or its connection "
                    "is closed. Idle "
                    "connections are not."},
    Setting{.name = "limit.stall.millis",
            .target = &Options::stall_time,
            .unit = Unit::milliseconds,
            .min = 1,
            .max = kDay,
            .help = "While others wait for request memory, a started request that brings less than 64 KiB in "
                    "so long is cut; the longer they wait, the sooner."},
    Setting{.name = "limit.send.millis",
            .target = &Options::send_timeout,
            .unit = Unit::milliseconds,
            .min = 1,
            .max = kDay,
            .help = "A client that takes no byte of its answers for so long is disconnected."},
    Setting{.name = "limit.shutdown.millis",
            .target = &Options::shutdown_timeout,
            .unit = Unit::milliseconds,
            .min = 1,
            .max = kDay,
            .help = "How long a stop may take. Peers that do not take their answers are cut after half of "
                    "it; the rest is for storage."},
    Setting{.name = "segment.mode",
            .target = NoEffect{},
            .help = "Accepted for configurations of the original; it has no effect."},
    Setting{.name = "transport",
            .target = NoEffect{},
            .help = "Accepted for configurations of the original; it has no effect."},
    Setting{.name = "fetch.mode",
            .target = NoEffect{},
            .help = "Accepted for configurations of the original; it has no effect."},
};

// The name with every '.' replaced.
std::string spelled(std::string_view name, char separator) {
  std::string out(name);
  std::ranges::replace(out, '.', separator);
  return out;
}

const Setting* find_by_name(std::string_view name) {
  const auto* const found = std::ranges::find(kSettings, name, &Setting::name);
  return found == kSettings.end() ? nullptr : found;
}

}  // namespace

std::string Setting::key() const {
  return "booblik." + std::string(name);
}

std::string Setting::flag() const {
  return "--" + spelled(name, '-');
}

std::string Setting::environment_variable() const {
  std::string out = "BOOBLIK_" + spelled(name, '_');
  for (char& c : out) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::span<const Setting> settings() {
  return kSettings;
}

const Setting* find_by_key(std::string_view key) {
  constexpr std::string_view kPrefix = "booblik.";
  return key.starts_with(kPrefix) ? find_by_name(key.substr(kPrefix.size())) : nullptr;
}

const Setting* find_by_environment_variable(std::string_view variable) {
  const auto* const found = std::ranges::find(kSettings, variable, &Setting::environment_variable);
  return found == kSettings.end() ? nullptr : found;
}

}  // namespace booblik::cli
