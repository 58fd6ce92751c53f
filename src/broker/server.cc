#include "broker/server.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "broker/maintenance.h"
#include "broker/sessions.h"
#include "log/chunk_pool.h"
#include "log/data_directory.h"
#include "log/partition_writer.h"
#include "log/recovery_report.h"

namespace booblik::broker {
namespace {

// Idle chunks are kept for the next burst, but an idle broker stays small.
constexpr std::int64_t kIdleChunkBytes = 4LL * 1024 * 1024;

class RunningServer final : public Server {
 public:
  RunningServer(env::Environment& environment, Options options, std::unique_ptr<log::DataDirectory> data,
                std::unique_ptr<env::Listener> listener)
      : environment_(environment),
        options_(std::move(options)),
        data_(std::move(data)),
        listener_(std::move(listener)),
        // Requests wait in two places: as received, and encoded. Each has half of the memory.
        chunks_(environment.scheduler, options_.request_memory_bytes_max / 2, kIdleChunkBytes),
        topics_(make_topics()),
        receive_memory_(environment.scheduler, environment.clock, options_.request_memory_bytes_max / 2,
                        options_.stall_time),
        answer_budget_(options_.request_memory_bytes_max / 16, options_.pipelined_requests_max),
        limited_log_(environment.logger, environment.clock),
        context_{environment.scheduler, environment.clock, environment.probe, options_,    topics_,
                 receive_memory_,       answer_budget_,    metrics_,          limited_log_},
        sessions_(context_),
        maintenance_(context_, environment.logger, *data_) {}

  [[nodiscard]] const std::string& address() const override { return listener_->address(); }
  [[nodiscard]] const Metrics& metrics() const override { return metrics_; }

  [[nodiscard]] std::vector<std::string> describe_partitions() const override {
    std::vector<std::string> lines;
    for (const auto& log : data_->partitions()) {
      lines.push_back(fmt::format("{}: offsets {}..{}, {} segment(s), {} bytes", log->id().to_string(),
                                  log->start_offset().value(), log->end_offset().value(),
                                  log->segment_count(), log->size_bytes()));
      if (log->recovery().damaged()) {
        lines.back() += fmt::format(", damaged: {} offsets cannot be read", log->recovery().damaged_offsets);
      }
    }
    return lines;
  }

  Result<void> run() override {
    maintenance_.start();
    sessions_.accept_from(*listener_);
    return stop();
  }

  void request_stop() override { listener_->close(); }

 private:
  std::vector<Topic> make_topics() {
    const log::PartitionWriter::Options writer_options{
        .flush_every_records = options_.flush_every_records,
        .flush_every = options_.flush_every,
        .flush_every_bytes = options_.flush_every_bytes,
    };
    std::vector<Topic> topics;
    for (const auto& log : data_->partitions()) {
      if (topics.empty() || topics.back().name != log->id().topic) {
        topics.push_back({log->id().topic, {}});
      }
      topics.back().partitions.push_back(
          {*log, std::make_unique<log::PartitionWriter>(environment_.scheduler, environment_.clock,
                                                        environment_.probe, environment_.logger, *log,
                                                        chunks_, writer_options)});
    }
    return topics;
  }

  Result<void> stop() {
    const Deadline deadline = context_.after(options_.shutdown_timeout);
    // Peers that do not take their answers have half of the time, so that what was accepted is synced all the
    // same.
    sessions_.shut_down(context_.after(options_.shutdown_timeout / 2));
    bool in_time = maintenance_.stop(deadline);
    for (Topic& topic : topics_.all()) {
      for (Partition& partition : topic.partitions) {
        in_time = partition.writer->stop(deadline) && in_time;
      }
    }
    if (!in_time || metrics_.connections > 0) {
      environment_.probe.hit("server.stop_took_too_long");
      return fail(ErrorCode::timed_out,
                  fmt::format("storage was not finished within {} ms (booblik.limit.shutdown.millis)",
                              options_.shutdown_timeout.count()));
    }
    if (const auto checkpoint = data_->write_checkpoint(); !checkpoint) {
      // It is derived: a full disk makes the next start slower, not this stop a bad one.
      environment_.logger.write(
          env::Level::warning,
          fmt::format("the checkpoint was not written, so the next start will read more: {}",
                      checkpoint.error().message));
    }
    for (const auto& log : data_->partitions()) {
      if (const auto& failure = log->failure()) {
        return fail(log->id().to_string(), *failure);
      }
    }
    return {};
  }

  env::Environment& environment_;
  const Options options_;
  std::unique_ptr<log::DataDirectory> data_;
  std::unique_ptr<env::Listener> listener_;
  log::ChunkPool chunks_;
  Topics topics_;
  ReceiveMemory receive_memory_;
  AnswerBudget answer_budget_;
  Metrics metrics_;
  LimitedLog limited_log_;
  Context context_;
  Sessions sessions_;
  Maintenance maintenance_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::open(env::Environment& environment, Options options) {
  log::DataDirectory::Options data_options{
      .path = options.data_directory,
      .topics = options.topics,
      .log = {options.segment_capacity_bytes, options.index_interval_bytes},
      .open_segment_files_max = static_cast<std::size_t>(options.open_segment_files_max),
      .index_cache_bytes_max = options.index_cache_bytes_max,
  };
  auto data = log::DataDirectory::open(environment.disk, environment.clock, environment.logger,
                                       environment.probe, std::move(data_options));
  if (!data) {
    return std::unexpected(data.error());
  }
  // Bound last: whoever can connect is served.
  auto listener = environment.network.listen(options.bind_address, options.port);
  if (!listener) {
    return std::unexpected(listener.error());
  }
  return std::make_unique<RunningServer>(environment, std::move(options), std::move(*data),
                                         std::move(*listener));
}

}  // namespace booblik::broker
