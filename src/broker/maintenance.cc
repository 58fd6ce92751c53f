#include "broker/maintenance.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "log/recovery_report.h"

namespace booblik::broker {

Maintenance::Maintenance(Context& context, env::Logger& logger, log::DataDirectory& data)
    : context_(context),
      logger_(logger),
      data_(data),
      stop_event_(context.scheduler),
      fibers_(context.scheduler),
      last_metrics_at_(context.clock.now()) {
  for (const auto& partition : data_.partitions()) {
    checkpointed_.push_back(partition->durable_offset());  // opening wrote a checkpoint
  }
}

Maintenance::~Maintenance() {
  BOOBLIK_CHECK(fibers_.running() == 0, "maintenance is stopped before it is destroyed");
}

void Maintenance::start() {
  const Options& options = context_.options;
  repeat("checkpoint", kCheckpointEvery, [this] { write_checkpoint_if_changed(); });
  if (options.retention_bytes || options.retention_age) {
    repeat("retention", options.retention_check_every, [this] { apply_retention(); });
  }
  if (options.metrics_every.count() > 0) {
    repeat("metrics", options.metrics_every, [this] { print_rates(); });
  }
}

bool Maintenance::stop(Deadline deadline) {
  stopping_ = true;
  stop_event_.notify_all();
  return fibers_.wait(deadline);
}

void Maintenance::repeat(const char* name, Duration period, std::move_only_function<void()> step) {
  fibers_.add();
  context_.scheduler.spawn(name, [this, period, step = std::move(step)]() mutable {
    Deadline next = context_.after(period);
    while (!stopping_) {
      if (!next.passed(context_.clock.now())) {
        stop_event_.wait(next);
        continue;
      }
      step();
      next = context_.after(period);
    }
    fibers_.done();
  });
}

void Maintenance::apply_retention() {
  const Options& options = context_.options;
  const log::RetentionLimits limits{options.retention_bytes, options.retention_age};
  for (Topic& topic : context_.topics.all()) {
    for (Partition& partition : topic.partitions) {
      if (options.retention_age) {
        partition.writer->roll_if_older(*options.retention_age);
      }
      const auto removed = partition.log.apply_retention(limits);
      if (!removed) {
        logger_.write(
            env::Level::error,
            fmt::format("{}: retention failed: {}", partition.log.id().to_string(), removed.error().message));
      } else if (*removed > 0) {
        partition.writer->notify_readers();
        logger_.write(
            env::Level::info,
            fmt::format("{}: retention removed {} segment(s), the log starts at offset {}",
                        partition.log.id().to_string(), *removed, partition.log.start_offset().value()));
      }
    }
  }
}

void Maintenance::write_checkpoint_if_changed() {
  std::vector<Offset> durable;
  for (const auto& partition : data_.partitions()) {
    durable.push_back(partition->durable_offset());
  }
  if (durable == checkpointed_) {
    return;
  }
  if (const auto written = data_.write_checkpoint()) {
    checkpointed_ = std::move(durable);
  } else {
    logger_.write(env::Level::warning,
                  fmt::format("the checkpoint was not written, so the next start will scan more: {}",
                              written.error().message));
  }
}

void Maintenance::print_rates() {
  const Instant now = context_.clock.now();
  logger_.write(env::Level::info,
                rate_line(last_metrics_, context_.metrics, now - last_metrics_at_) + standing_trouble());
  last_metrics_ = context_.metrics;
  last_metrics_at_ = now;
  context_.log.flush();
}

std::string Maintenance::standing_trouble() const {
  std::int64_t failed = 0;
  std::int64_t damaged_offsets = 0;
  std::string first_failed;
  for (const auto& partition : data_.partitions()) {
    damaged_offsets += partition->recovery().damaged_offsets;
    if (partition->failure() && failed++ == 0) {
      first_failed = partition->id().to_string();
    }
  }
  std::string trouble;
  if (failed > 0) {
    trouble += fmt::format(", {} partition(s) take no writes until a restart ({}{})", failed, first_failed,
                           failed > 1 ? ", ..." : "");
  }
  if (damaged_offsets > 0) {
    trouble += fmt::format(", {} damaged offsets cannot be read", damaged_offsets);
  }
  return trouble;
}

}  // namespace booblik::broker
