// What the log costs on a real file system: appends, lookups, the scan of recovery, a start. The directory is
// the working directory or BOOBLIK_BENCH_DIRECTORY; it should not be a tmpfs.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/crc32c.h"
#include "env/posix/environment.h"
#include "log/index.h"
#include "log/partition_log.h"
#include "log/record.h"
#include "log/recovery_report.h"
#include "log/segment_files.h"

namespace booblik::log {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;
constexpr std::int64_t kPayloadBytes = 128;
constexpr std::int64_t kRecordBytes = kRecordHeaderBytes + kPayloadBytes;
constexpr LogOptions kOptions{.segment_capacity_bytes = 512 * kMiB, .index_interval_bytes = 4096};

void must(bool condition) {
  if (!condition) {
    std::terminate();
  }
}

std::vector<std::byte> encode_records(std::int64_t bytes) {
  std::vector<std::byte> group(static_cast<std::size_t>(bytes / kRecordBytes * kRecordBytes));
  std::vector<std::byte> payload(kPayloadBytes);
  for (std::size_t at = 0; at < group.size(); at += kRecordBytes) {
    payload[at % kPayloadBytes] ^= std::byte{1};
    store_big_endian(group.data() + at, static_cast<std::int32_t>(kPayloadBytes));
    store_big_endian(group.data() + at + 4, crc32c_copy(group.data() + at + kRecordHeaderBytes, payload));
  }
  return group;
}

// A log in a directory of its own, in an environment of its own.
class Bench {
 public:
  explicit Bench(env::Environment& roles) : roles_(roles) {
    const char* base = std::getenv("BOOBLIK_BENCH_DIRECTORY");
    directory_ = (std::filesystem::path(base == nullptr ? "." : base) / "log-bench").string();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~Bench() {
    close();
    std::filesystem::remove_all(directory_);
  }

  void open(const std::optional<PartitionCheckpoint>& checkpoint) {
    close();
    auto opened =
        PartitionLog::open({roles_.disk, roles_.clock, roles_.logger, roles_.probe, files_, indexes_},
                           {"bench", PartitionId(0)}, directory_ + "/bench-0", kOptions, checkpoint);
    must(opened.has_value());
    log_ = std::move(*opened);
  }

  void close() { log_.reset(); }

  void append(const std::vector<std::byte>& group) {
    const auto bytes = static_cast<std::int64_t>(group.size());
    const RecordRun run{group, bytes / kRecordBytes,
                        log_->active_position().value() + bytes > kOptions.segment_capacity_bytes};
    must(log_->append({&run, 1}).has_value());
  }

  void fill(std::int64_t bytes) {
    const auto group = encode_records(kMiB);
    while (log_->size_bytes() < bytes) {
      append(group);
    }
    must(log_->sync().has_value());
  }

  void remove_index_files() {
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/bench-0")) {
      if (entry.path().extension() == ".booblik-index") {
        std::filesystem::remove(entry.path());
      }
    }
  }

  PartitionLog& log() { return *log_; }

 private:
  env::Environment& roles_;
  std::string directory_;
  SegmentFiles files_{roles_.disk, 64};
  IndexCache indexes_{32 * kMiB};
  std::unique_ptr<PartitionLog> log_;
};

template <class Body>
void with_log(Body&& body) {
  env::SystemCalls system;
  auto environment = env::PosixEnvironment::create({}, system);
  must(environment.has_value());
  (*environment)->run([&] {
    env::Environment roles = (*environment)->roles();
    Bench bench(roles);
    bench.open(std::nullopt);
    body(bench);
  });
}

void append_groups(benchmark::State& state) {
  with_log([&](Bench& bench) {
    const auto group = encode_records(state.range(0));
    for (auto _ : state) {
      bench.append(group);
    }
    const auto bytes = state.iterations() * static_cast<std::int64_t>(group.size());
    state.SetBytesProcessed(bytes);
    state.SetItemsProcessed(bytes / kRecordBytes);
  });
}
BENCHMARK(append_groups)->Arg(64 * 1024)->Iterations(16 * 1024);
BENCHMARK(append_groups)->Arg(kMiB)->Iterations(1024);

// The same writes without a log.
void write_groups(benchmark::State& state) {
  env::SystemCalls system;
  auto environment = env::PosixEnvironment::create({}, system);
  must(environment.has_value());
  (*environment)->run([&] {
    env::Environment roles = (*environment)->roles();
    const auto group = encode_records(state.range(0));
    std::filesystem::remove("write-bench");
    auto file = roles.disk.open("write-bench", env::OpenMode::create_new);
    must(file.has_value());
    Position position;
    const Bytes part(group);
    for (auto _ : state) {
      must((*file)->write_at({&part, 1}, position).has_value());
      position += static_cast<std::int64_t>(group.size());
    }
    std::filesystem::remove("write-bench");
    const auto bytes = state.iterations() * static_cast<std::int64_t>(group.size());
    state.SetBytesProcessed(bytes);
    state.SetItemsProcessed(bytes / kRecordBytes);
  });
}
BENCHMARK(write_groups)->Arg(64 * 1024)->Iterations(16 * 1024);
BENCHMARK(write_groups)->Arg(kMiB)->Iterations(1024);

void read_random(benchmark::State& state) {
  with_log([&](Bench& bench) {
    bench.fill(state.range(0) * kMiB);
    env::Random random(1);
    const auto end = static_cast<std::uint64_t>(bench.log().end_offset().value());
    for (auto _ : state) {
      const auto slice = bench.log().read(Offset(static_cast<std::int64_t>(random.below(end))), 64 * 1024);
      must(slice.has_value() && slice->bytes > 0);
    }
  });
}
BENCHMARK(read_random)->Arg(256)->Arg(1024);

// Every byte below the recovery point, and no index: the scan alone.
void recovery_scan(benchmark::State& state) {
  with_log([&](Bench& bench) {
    bench.fill(state.range(0) * kMiB);
    const auto checkpoint = bench.log().checkpoint();
    for (auto _ : state) {
      state.PauseTiming();
      bench.close();
      bench.remove_index_files();
      state.ResumeTiming();
      bench.open(checkpoint);
      must(bench.log().recovery().bytes_scanned >= state.range(0) * kMiB);
    }
    state.SetBytesProcessed(state.iterations() * state.range(0) * kMiB);
  });
}
BENCHMARK(recovery_scan)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();

// Nothing is known: scanned, rewritten in place, synced.
void recovery_without_checkpoint(benchmark::State& state) {
  with_log([&](Bench& bench) {
    bench.fill(state.range(0) * kMiB);
    for (auto _ : state) {
      state.PauseTiming();
      bench.close();
      bench.remove_index_files();
      state.ResumeTiming();
      bench.open(std::nullopt);
    }
    state.SetBytesProcessed(state.iterations() * state.range(0) * kMiB);
  });
}
BENCHMARK(recovery_without_checkpoint)->Arg(256)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(2);

void start_after_a_stop(benchmark::State& state) {
  with_log([&](Bench& bench) {
    bench.fill(state.range(0) * kMiB);
    bench.log().persist_index();
    const auto checkpoint = bench.log().checkpoint();
    for (auto _ : state) {
      bench.open(checkpoint);
      must(bench.log().recovery().bytes_scanned == 0);
    }
  });
}
BENCHMARK(start_after_a_stop)->Arg(1024)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace booblik::log

BENCHMARK_MAIN();
