// Makes bytes that were found durable.
#pragma once

#include "base/ids.h"
#include "base/result.h"
#include "env/disk.h"

namespace booblik::log {

// Writes the bytes [from, to) of a file over themselves, block by block. After a failed sync the kernel may
// hold pages that are marked clean and are not on the disk: a new sync would skip them, a write makes it take
// them again. Not durable before sync_data. A crash in between changes nothing, since the bytes are the same.
// May park.
Result<void> rewrite_in_place(env::File& file, Position from, Position to);

}  // namespace booblik::log
