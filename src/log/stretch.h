// A stretch of records between two places that are known, walked by its headers.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "env/disk.h"
#include "log/scan.h"

namespace booblik::log {

struct Stretch {
  Anchor begin;
  Anchor end;
};

// The position of `offset`, or nullopt when it is not in the stretch or the headers do not lead from one end
// of it exactly to the other: a damaged size can lead to the header of a later record, which must not be
// taken for this one. An empty stretch holds no offset. Payloads are not looked at. May park.
Result<std::optional<Position>> walk(env::File& file, const Stretch& stretch, Offset offset);

}  // namespace booblik::log
