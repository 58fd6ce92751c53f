#include "env/disk.h"

namespace booblik::env {
namespace {

std::unexpected<Error> refuse_poisoned() {
  return fail(ErrorCode::poisoned, "an earlier sync of this file failed, so what is on disk is unknown");
}

}  // namespace

Result<void> File::write_at(std::span<const Bytes> parts, Position position) {
  if (poisoned_) {
    return refuse_poisoned();
  }
  return do_write_at(parts, position);
}

Result<void> File::sync_data() {
  if (poisoned_) {
    return refuse_poisoned();
  }
  auto synced = do_sync_data();
  if (!synced) {
    poisoned_ = true;
  }
  return synced;
}

Result<void> File::truncate(std::int64_t size) {
  if (poisoned_) {
    return refuse_poisoned();
  }
  return do_truncate(size);
}

}  // namespace booblik::env
