// Takes the payload of a FETCH answer apart: raw record bytes as they lie on disk, cut anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace booblik::client {

struct Record {
  Offset offset;
  Bytes value;  // a view into the payload
};

// How a payload ended.
struct SplitEnd {
  Offset next;                 // the first offset that is not among the records
  std::size_t tail_bytes = 0;  // of an incomplete record at the end, dropped
  // The payload size that the incomplete record's header announces, if so much of it is there (and sound).
  std::optional<std::int32_t> tail_record_bytes;
  // Why the record at `next` cannot be what was written: a wrong checksum, an impossible size. Null: nothing
  // wrong.
  const char* corrupt = nullptr;
};

// Appends the whole, sound records to `records`: the first has offset `first`. Stops at the first corrupt
// one. Total; no size in the payload is believed before it is checked.
[[nodiscard]] SplitEnd split_records(Bytes payload, Offset first, std::vector<Record>& records);

}  // namespace booblik::client
