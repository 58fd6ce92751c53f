#include "client/record_splitter.h"

#include <limits>

#include "base/crc32c.h"
#include "wire/protocol.h"

namespace booblik::client {

SplitEnd split_records(Bytes payload, Offset first, std::vector<Record>& records) {
  constexpr std::size_t kHeader = wire::kRecordHeaderBytes;
  SplitEnd end{.next = first, .tail_record_bytes = {}};
  while (!payload.empty()) {
    if (payload.size() < sizeof(std::int32_t)) {
      end.tail_bytes = payload.size();
      return end;
    }
    if (end.next == Offset(std::numeric_limits<std::int64_t>::max())) {
      end.corrupt = "no offset is left for it";
      return end;
    }
    const auto size = load_big_endian<std::int32_t>(payload.data());
    if (size <= 0 || size > wire::kMaxRecordPayloadBytes) {
      end.corrupt = "its size is not one that a record can have";
      return end;
    }
    if (payload.size() < kHeader || payload.size() - kHeader < static_cast<std::size_t>(size)) {
      end.tail_bytes = payload.size();
      end.tail_record_bytes = size;
      return end;
    }
    const Bytes value = payload.subspan(kHeader, static_cast<std::size_t>(size));
    if (crc32c(value) != load_big_endian<std::uint32_t>(payload.data() + sizeof size)) {
      end.corrupt = "its bytes do not match its checksum";
      return end;
    }
    records.push_back({end.next, value});
    end.next += 1;
    payload = payload.subspan(kHeader + value.size());
  }
  return end;
}

}  // namespace booblik::client
