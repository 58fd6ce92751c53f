#include <booblik/position_store.h>

#include <utility>

#include "client/position_store.h"
#include "library/translate.h"
#include "wire/topic_name.h"

namespace booblik {

namespace library {

struct FilePositions {
  std::shared_ptr<ClientState> client;
  std::unique_ptr<client::FilePositionStore> store;

  [[nodiscard]] ReactorThread& thread() const { return *client->thread; }
};

namespace {

Failure of_storage(const Error& error) {
  return failure(FailureKind::storage, error.message);
}

Outcome<void> check(const StoredPosition& position) {
  if (const auto valid = wire::check_topic_name(position.topic); !valid) {
    return failure(FailureKind::invalid, valid.error().message);
  }
  if (position.partition < 0 || position.next_offset < 0) {
    return failure(FailureKind::invalid, "a stored partition or offset is not negative");
  }
  return {};
}

}  // namespace
}  // namespace library

PositionStore::~PositionStore() = default;

Outcome<std::unique_ptr<FilePositionStore>> FilePositionStore::open(const Client& client, std::string path) {
  auto positions = std::make_unique<library::FilePositions>(
      library::FilePositions{library::ClientState::of(client), nullptr});
  library::ReactorThread& thread = positions->thread();
  if (thread.is_current()) {
    return library::called_from_callback("FilePositionStore::open");
  }
  const auto opened = thread.call("open position store", [&]() -> Outcome<void> {
    auto store = client::FilePositionStore::open(thread.roles().scheduler, thread.disk(), std::move(path));
    if (!store) {
      return library::of_storage(store.error());
    }
    positions->store = std::move(*store);
    return {};
  });
  if (!opened) {
    return opened.error();
  }
  return std::unique_ptr<FilePositionStore>(new FilePositionStore(std::move(positions)));
}

FilePositionStore::FilePositionStore(std::unique_ptr<library::FilePositions> positions)
    : positions_(std::move(positions)) {}

FilePositionStore::~FilePositionStore() {
  library::ReactorThread& thread = positions_->thread();
  if (thread.is_current()) {
    thread.spawn("end position store", [positions = std::move(positions_)] { positions->store.reset(); });
  } else {
    thread.call("end position store", [this] { positions_->store.reset(); });
  }
}

Outcome<std::optional<std::int64_t>> FilePositionStore::load(std::string_view topic, std::int32_t partition) {
  library::ReactorThread& thread = positions_->thread();
  if (thread.is_current()) {
    return library::called_from_callback("load");
  }
  return thread.call("load position", [&]() -> Outcome<std::optional<std::int64_t>> {
    const auto offset = positions_->store->load(topic, PartitionId(partition));
    if (!offset) {
      return library::of_storage(offset.error());
    }
    return *offset ? std::optional((*offset)->value()) : std::nullopt;
  });
}

Outcome<void> FilePositionStore::save(const std::vector<StoredPosition>& positions) {
  library::ReactorThread& thread = positions_->thread();
  if (thread.is_current()) {
    return library::called_from_callback("save");
  }
  std::vector<client::StoredPosition> inner;
  for (const StoredPosition& position : positions) {
    if (auto valid = library::check(position); !valid) {
      return valid;
    }
    inner.push_back({position.topic, PartitionId(position.partition), Offset(position.next_offset)});
  }
  return thread.call("save positions", [&]() -> Outcome<void> {
    if (const auto saved = positions_->store->save(inner); !saved) {
      return library::of_storage(saved.error());
    }
    return {};
  });
}

}  // namespace booblik
