// Where a reader keeps how far it has got, between its runs. A consumer stores nothing by itself: save a
// position when the program is done with the records before it, so that after a crash it sees some records
// again rather than miss any (at least once).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <booblik/client.h>
#include <booblik/export.h>
#include <booblik/outcome.h>

namespace booblik {

namespace library {
struct FilePositions;
}

struct StoredPosition {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t next_offset = 0;  // the first record that is not done yet: RecordBatch::next_offset()
};

class BOOBLIK_API PositionStore {
 public:
  PositionStore() = default;
  PositionStore(const PositionStore&) = delete;
  PositionStore& operator=(const PositionStore&) = delete;
  virtual ~PositionStore();

  // nullopt when none was ever saved. A failure means that it is not known: starting at zero would then
  // repeat everything, so the program must not.
  [[nodiscard]] virtual Outcome<std::optional<std::int64_t>> load(std::string_view topic,
                                                                  std::int32_t partition) = 0;

  // Durable when it returns (it survives a power cut), all of them together; on a failure the store holds all
  // the old ones or all the new ones. What is not in `positions` stays.
  virtual Outcome<void> save(const std::vector<StoredPosition>& positions) = 0;
};

// A file of lines with a checksum, replaced as a whole at each save; for one process at a time.
//
// Thread safety: all calls, from any thread but the library's own (a callback gets `invalid`).
class BOOBLIK_API FilePositionStore final : public PositionStore {
 public:
  // Reads the file, with the client's thread; one that is not there holds nothing. Failures: storage (it
  // cannot be read, or is not what a store has written: it is never taken for an empty one), invalid.
  [[nodiscard]] static Outcome<std::unique_ptr<FilePositionStore>> open(const Client& client,
                                                                        std::string path);

  ~FilePositionStore() override;

  [[nodiscard]] Outcome<std::optional<std::int64_t>> load(std::string_view topic,
                                                          std::int32_t partition) override;
  // Failures: storage, also when somebody else has changed the file since this store read or wrote it;
  // invalid (a position that cannot be).
  Outcome<void> save(const std::vector<StoredPosition>& positions) override;

 private:
  explicit FilePositionStore(std::unique_ptr<library::FilePositions> positions);

  std::unique_ptr<library::FilePositions> positions_;
};

}  // namespace booblik
