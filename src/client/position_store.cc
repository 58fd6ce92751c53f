#include "client/position_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"

namespace booblik::client {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The whole file; nullopt when there is none.
Result<std::optional<std::string>> read_text(env::Disk& disk, const std::string& path) {
  const auto file = disk.open(path, env::OpenMode::read_only);
  if (!file && file.error().code == ErrorCode::not_found) {
    return std::nullopt;
  }
  if (!file) {
    return fail(path, file.error());
  }
  const auto size = (*file)->size();
  if (!size) {
    return fail(path, size.error());
  }
  if (*size > static_cast<std::int64_t>(kPositionFileBytesMax)) {
    return fail(ErrorCode::damaged,
                fmt::format("{}: {} bytes are more than a position file has", path, *size));
  }
  std::string text(static_cast<std::size_t>(*size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const auto count = (*file)->read_at(std::as_writable_bytes(std::span(text)).subspan(have),
                                        Position(static_cast<std::int64_t>(have)));
    if (!count) {
      return fail(path, count.error());
    }
    if (*count == 0) {
      break;
    }
    have += *count;
  }
  text.resize(have);
  return text;
}

Result<void> write_new(env::Disk& disk, const std::string& path, std::string_view text) {
  auto file = disk.open(path, env::OpenMode::create_new);
  if (!file && file.error().code == ErrorCode::already_exists) {  // left by a crash: nobody has read it
    if (auto removed = disk.remove(path); !removed) {
      return removed;
    }
    file = disk.open(path, env::OpenMode::create_new);
  }
  if (!file) {
    return std::unexpected(std::move(file.error()));
  }
  const Bytes bytes = as_bytes(text);
  if (auto written = (*file)->write_at({&bytes, 1}, Position(0)); !written) {
    return written;
  }
  return (*file)->sync_data();
}

}  // namespace

FilePositionStore::FilePositionStore(env::Scheduler& scheduler, env::Disk& disk, std::string path)
    : disk_(disk), path_(std::move(path)), turn_(scheduler) {}

Result<std::unique_ptr<FilePositionStore>> FilePositionStore::open(env::Scheduler& scheduler, env::Disk& disk,
                                                                   std::string path) {
  auto text = read_text(disk, path);
  if (!text) {
    return std::unexpected(std::move(text.error()));
  }
  std::unique_ptr<FilePositionStore> store(new FilePositionStore(scheduler, disk, std::move(path)));
  store->text_ = std::move(*text);
  store->other_text_ = store->text_;
  if (store->text_) {
    auto positions = parse_positions(*store->text_);
    if (!positions) {
      return fail(positions.error().code, fmt::format("{}: {}; restore it, or remove it to begin anew",
                                                      store->path_, positions.error().message));
    }
    store->positions_ = std::move(*positions);
  }
  return store;
}

Result<std::optional<Offset>> FilePositionStore::load(std::string_view topic, PartitionId partition) {
  const auto found = positions_.find({std::string(topic), partition});
  return found == positions_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> FilePositionStore::save(std::span<const StoredPosition> positions) {
  while (saving_) {
    turn_.wait(Deadline::never());
  }
  StoredPositions after = positions_;
  for (const StoredPosition& position : positions) {
    after[{position.topic, position.partition}] = position.next;
  }
  const std::string text = format_positions(after);
  saving_ = true;
  auto saved = check_unchanged();
  if (saved) {
    saved = replace(text);
  }
  saving_ = false;
  turn_.notify_all();
  if (!saved) {
    return fail(path_, std::move(saved.error()));
  }
  positions_ = std::move(after);
  return {};
}

Result<void> FilePositionStore::check_unchanged() {
  const auto now = read_text(disk_, path_);
  if (!now) {
    return std::unexpected(now.error());
  }
  if (*now != text_ && *now != other_text_) {
    return fail(ErrorCode::locked, "somebody else has changed it; give each reader a file of its own");
  }
  return {};
}

Result<void> FilePositionStore::replace(const std::string& text) {
  const std::string beside = path_ + ".new";
  other_text_ = text_;
  if (auto written = write_new(disk_, beside, text); !written) {
    return written;
  }
  if (auto renamed = disk_.rename(beside, path_); !renamed) {
    other_text_ = text;  // an error does not say that it did not happen
    return renamed;
  }
  text_ = text;
  if (auto synced = disk_.sync_directory(directory_of(path_)); !synced) {
    return synced;
  }
  other_text_ = text_;
  return {};
}

}  // namespace booblik::client
