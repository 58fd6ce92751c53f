// Where a reader keeps how far it has got, between its runs. The consumer itself stores nothing: the caller
// saves a position when it is done with the records before it, so that after a crash it sees some records
// again rather than miss any (at least once).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "client/position_file.h"
#include "env/disk.h"
#include "env/sync.h"

namespace booblik::client {

struct StoredPosition {
  std::string topic;
  PartitionId partition;
  Offset next;  // the first record that is not done yet

  bool operator==(const StoredPosition&) const = default;
};

class PositionStore {
 public:
  virtual ~PositionStore() = default;

  // nullopt when none was ever saved. An error means that it is not known: starting at zero would then repeat
  // everything, so the caller must not. May park.
  [[nodiscard]] virtual Result<std::optional<Offset>> load(std::string_view topic, PartitionId partition) = 0;

  // Durable when it returns, all of them together; on an error the store holds all the old ones or all the
  // new ones. What is not in `positions` stays. Parks.
  [[nodiscard]] virtual Result<void> save(std::span<const StoredPosition> positions) = 0;
};

// A file of lines, for one process at a time:
//   booblik-positions 1
//   orders 0 1234
//   orders 1 77
//   crc32c 9ae0daaf
// (version; topic, partition and position, by topic and partition; the checksum of all bytes above it). It is
// replaced as a whole: a new file is written beside it (PATH.new), synced, renamed over it, and the directory
// synced.
class FilePositionStore final : public PositionStore {
 public:
  // Reads the file; one that is not there holds nothing. `damaged` when it is not what a store has written,
  // `invalid` for another version; it is never taken for an empty one. Parks.
  [[nodiscard]] static Result<std::unique_ptr<FilePositionStore>> open(env::Scheduler& scheduler,
                                                                       env::Disk& disk, std::string path);

  [[nodiscard]] Result<std::optional<Offset>> load(std::string_view topic, PartitionId partition) override;

  // Errors besides those of the disk: `locked` when somebody else has changed the file since this store read
  // or wrote it, since one of the two would be lost. Calls from several fibers take turns.
  [[nodiscard]] Result<void> save(std::span<const StoredPosition> positions) override;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  FilePositionStore(env::Scheduler& scheduler, env::Disk& disk, std::string path);

  [[nodiscard]] Result<void> replace(const std::string& text);
  [[nodiscard]] Result<void> check_unchanged();

  env::Disk& disk_;
  std::string path_;
  StoredPositions positions_;
  std::optional<std::string> text_;        // of the file, as far as known
  std::optional<std::string> other_text_;  // after a failed save it may be this as well
  bool saving_ = false;
  env::Event turn_;
};

}  // namespace booblik::client
