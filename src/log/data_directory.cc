#include "log/data_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/numbers.h"
#include "log/index.h"
#include "log/segment_files.h"

namespace booblik::log {
namespace {

constexpr std::string_view kCheckpointName = "checkpoint";
constexpr std::string_view kCheckpointTemporary = "checkpoint.new";
constexpr std::string_view kLockName = "lock";
// Far above what as many partitions as fit one METADATA answer can need.
constexpr std::int64_t kCheckpointBytesMax = 64LL * 1024 * 1024;

// "orders-3", with the number written the way that to_string() writes it.
std::optional<TopicPartition> parse_partition_directory(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(dash + 1);
  const auto number = parse_number<std::int32_t>(digits);
  if (!number || *number < 0) {
    return std::nullopt;
  }
  TopicPartition id{std::string(name.substr(0, dash)), PartitionId(*number)};
  return id.to_string() == name ? std::optional(std::move(id)) : std::nullopt;
}

class DataDirectoryOnDisk final : public DataDirectory {
 public:
  DataDirectoryOnDisk(env::Disk& disk, env::Clock& clock, env::Logger& logger, env::Probe& probe,
                      Options options)
      : disk_(disk),
        clock_(clock),
        logger_(logger),
        probe_(probe),
        options_(std::move(options)),
        files_(disk, options_.open_segment_files_max),
        indexes_(options_.index_cache_bytes_max) {}

  Result<void> open() {
    for (const auto step : {&DataDirectoryOnDisk::take, &DataDirectoryOnDisk::look_around,
                            &DataDirectoryOnDisk::load_checkpoint, &DataDirectoryOnDisk::open_partitions}) {
      if (auto done = (this->*step)(); !done) {
        return done;
      }
    }
    // A full disk must not keep the broker from serving what it has.
    if (const auto written = write_checkpoint(); !written) {
      logger_.write(env::Level::warning,
                    fmt::format("the checkpoint was not written, so the next start will read more: {}",
                                written.error().message));
    }
    return {};
  }

  [[nodiscard]] const std::vector<std::unique_ptr<PartitionLog>>& partitions() const override {
    return partitions_;
  }

  Result<void> write_checkpoint() override;

 private:
  Result<void> take();
  Result<void> look_around();
  Result<void> check_partition_count(const std::string& topic, std::int32_t on_disk) const;
  void tell_about(const char* what, const std::vector<std::string>& names);
  Result<void> load_checkpoint();
  Result<void> open_partitions();
  Result<void> replace_checkpoint(Bytes bytes);

  [[nodiscard]] std::string path_of(std::string_view name) const {
    return fmt::format("{}/{}", options_.path, name);
  }

  env::Disk& disk_;
  env::Clock& clock_;
  env::Logger& logger_;
  env::Probe& probe_;
  const Options options_;
  std::unique_ptr<env::DirectoryLock> lock_;
  SegmentFiles files_;
  IndexCache indexes_;
  std::vector<TopicPartition> not_configured_;  // on disk
  std::map<TopicPartition, PartitionCheckpoint> checkpoint_;
  std::vector<std::unique_ptr<PartitionLog>> partitions_;
  bool writing_checkpoint_ = false;
};

Result<void> DataDirectoryOnDisk::take() {
  if (auto created = disk_.create_directory(options_.path); !created) {
    return fail(fmt::format("create the data directory {}", options_.path), std::move(created.error()));
  }
  auto lock = disk_.lock(options_.path);
  if (!lock) {
    return std::unexpected(std::move(lock.error()));
  }
  lock_ = std::move(*lock);
  const std::size_t slash = options_.path.find_last_of('/');
  const std::string parent =
      slash == std::string::npos ? "." : options_.path.substr(0, std::max<std::size_t>(slash, 1));
  if (auto synced = disk_.sync_directory(parent); !synced) {
    return fail("sync " + parent, std::move(synced.error()));
  }
  return {};
}

Result<void> DataDirectoryOnDisk::look_around() {
  auto entries = disk_.list(options_.path);
  if (!entries) {
    return fail("list " + options_.path, std::move(entries.error()));
  }
  std::map<std::string, std::int32_t> partitions_on_disk;  // of configured topics
  std::vector<std::string> others;
  std::vector<std::string> foreign;
  for (const env::DirectoryEntry& entry : *entries) {
    const auto id = entry.is_directory ? parse_partition_directory(entry.name) : std::nullopt;
    if (id && options_.topics.contains(id->topic)) {
      std::int32_t& count = partitions_on_disk[id->topic];
      count = std::max(count, id->partition.value() + 1);
    } else if (id) {
      not_configured_.push_back(*id);
      others.push_back(entry.name);
    } else if (entry.name != kCheckpointName && entry.name != kCheckpointTemporary &&
               entry.name != kLockName) {
      foreign.push_back(entry.name);
    }
  }
  tell_about("not configured, left alone", others);
  tell_about("not of this broker, left alone", foreign);
  for (const auto& [topic, count] : partitions_on_disk) {
    if (auto enough = check_partition_count(topic, count); !enough) {
      return enough;
    }
  }
  return {};
}

Result<void> DataDirectoryOnDisk::check_partition_count(const std::string& topic,
                                                        std::int32_t on_disk) const {
  const std::int32_t configured = options_.topics.at(topic);
  if (configured >= on_disk) {
    return {};
  }
  return fail(
      ErrorCode::invalid,
      fmt::format("booblik.topics: topic {} has {} partitions in {} and {} in the configuration; a partition "
                  "cannot be taken away, so write {}:{}",
                  topic, on_disk, options_.path, configured, topic, on_disk));
}

void DataDirectoryOnDisk::tell_about(const char* what, const std::vector<std::string>& names) {
  constexpr std::size_t kNamesMax = 5;
  if (names.empty()) {
    return;
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) {
    list += (i == 0 ? "" : ", ") + names[i];
  }
  const char* more = names.size() > kNamesMax ? ", ..." : "";
  logger_.write(env::Level::info,
                fmt::format("{}: {} ({}): {}{}", options_.path, what, names.size(), list, more));
}

Result<void> DataDirectoryOnDisk::load_checkpoint() {
  const auto file = disk_.open(path_of(kCheckpointName), env::OpenMode::read_only);
  if (!file && file.error().code == ErrorCode::not_found) {
    probe_.hit("log.checkpoint_absent");
    return {};
  }
  const auto read = [&]() -> Result<std::vector<PartitionCheckpoint>> {
    if (!file) {
      return std::unexpected(file.error());
    }
    const auto size = (*file)->size();
    if (!size || *size > kCheckpointBytesMax) {
      return size ? fail(ErrorCode::damaged, "the file is too large") : std::unexpected(size.error());
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
    const auto got = (*file)->read_at(bytes, Position());
    return got ? decode_checkpoints(Bytes(bytes).first(*got)) : std::unexpected(got.error());
  };
  auto checkpoints = read();
  if (!checkpoints && checkpoints.error().code != ErrorCode::damaged) {
    // A start without it keeps what is behind a hole, and one that can read it again removes that, records
    // included that were acknowledged in between.
    return fail(checkpoints.error().code,
                fmt::format("cannot read {}: {}; mend what is wrong, or move the file away to have the next "
                            "start read everything",
                            path_of(kCheckpointName), checkpoints.error().message));
  }
  if (!checkpoints) {
    probe_.hit("log.checkpoint_ignored");
    logger_.write(env::Level::warning, fmt::format("{} is ignored, so this start reads everything: {}",
                                                   path_of(kCheckpointName), checkpoints.error().message));
    return {};
  }
  for (PartitionCheckpoint& entry : *checkpoints) {
    checkpoint_.insert_or_assign(entry.id, entry);
  }
  return {};
}

Result<void> DataDirectoryOnDisk::open_partitions() {
  constexpr Duration kLineEvery = std::chrono::seconds(5);
  Instant last_line = clock_.now();
  for (const auto& [topic, count] : options_.topics) {
    for (std::int32_t number = 0; number < count; ++number) {
      const TopicPartition id{topic, PartitionId(number)};
      const auto known = checkpoint_.find(id);
      auto log = PartitionLog::open({disk_, clock_, logger_, probe_, files_, indexes_}, id,
                                    path_of(id.to_string()), options_.log,
                                    known == checkpoint_.end() ? std::nullopt : std::optional(known->second));
      if (!log) {
        return std::unexpected(std::move(log.error()));
      }
      partitions_.push_back(std::move(*log));
      if (clock_.now() - last_line >= kLineEvery) {
        last_line = clock_.now();
        logger_.write(env::Level::info, fmt::format("opened {} partitions so far", partitions_.size()));
      }
    }
  }
  return {};
}

Result<void> DataDirectoryOnDisk::write_checkpoint() {
  BOOBLIK_CHECK(!std::exchange(writing_checkpoint_, true), "one fiber at a time writes the checkpoint");
  std::vector<PartitionCheckpoint> checkpoints;
  for (const auto& partition : partitions_) {
    partition->persist_index();
    checkpoints.push_back(partition->checkpoint());
  }
  // What was known about topics that are not configured now is still true: nobody touches them.
  for (const TopicPartition& id : not_configured_) {
    if (const auto known = checkpoint_.find(id); known != checkpoint_.end()) {
      checkpoints.push_back(known->second);
    }
  }
  auto written = replace_checkpoint(encode_checkpoints(checkpoints));
  if (!written) {
    probe_.hit("log.checkpoint_not_written");
  }
  writing_checkpoint_ = false;
  return written;
}

Result<void> DataDirectoryOnDisk::replace_checkpoint(Bytes bytes) {
  const std::string temporary = path_of(kCheckpointTemporary);
  auto file = disk_.open(temporary, env::OpenMode::create_new);
  if (!file && file.error().code == ErrorCode::already_exists) {
    probe_.hit("log.checkpoint_begun_again");
    std::ignore = disk_.remove(temporary);
    file = disk_.open(temporary, env::OpenMode::create_new);
  }
  if (!file) {
    return fail("create " + temporary, std::move(file.error()));
  }
  if (auto written = (*file)->write_at({&bytes, 1}, Position()); !written) {
    return fail("write " + temporary, std::move(written.error()));
  }
  if (auto synced = (*file)->sync_data(); !synced) {
    return fail("sync " + temporary, std::move(synced.error()));
  }
  if (auto renamed = disk_.rename(temporary, path_of(kCheckpointName)); !renamed) {
    return fail("rename " + temporary, std::move(renamed.error()));
  }
  return disk_.sync_directory(options_.path);
}

}  // namespace

Result<std::unique_ptr<DataDirectory>> DataDirectory::open(env::Disk& disk, env::Clock& clock,
                                                           env::Logger& logger, env::Probe& probe,
                                                           Options options) {
  auto directory = std::make_unique<DataDirectoryOnDisk>(disk, clock, logger, probe, std::move(options));
  if (auto opened = directory->open(); !opened) {
    return std::unexpected(std::move(opened.error()));
  }
  return directory;
}

}  // namespace booblik::log
