// Requests, decoded in place: every view points into the frame that was decoded and lives as long as its
// bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <iterator>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/protocol.h"

namespace booblik::wire {

// The records of a PRODUCE body, already checked: `count` times (int32 payloadSize > 0, payload) and nothing
// else.
class RecordBatch {
 public:
  class Iterator {
   public:
    using value_type = Bytes;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(const std::byte* at) : at_(at) {}

    Bytes operator*() const { return {at_ + sizeof(std::int32_t), size()}; }
    Iterator& operator++() {
      at_ += sizeof(std::int32_t) + size();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    [[nodiscard]] std::size_t size() const {
      return static_cast<std::size_t>(load_big_endian<std::int32_t>(at_));
    }

    const std::byte* at_ = nullptr;
  };

  RecordBatch() = default;
  RecordBatch(Bytes encoded, std::int32_t count, std::int32_t largest_payload)
      : encoded_(encoded), count_(count), largest_payload_(largest_payload) {}

  [[nodiscard]] Iterator begin() const { return Iterator(encoded_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(encoded_.data() + encoded_.size()); }
  [[nodiscard]] std::int32_t count() const { return count_; }
  [[nodiscard]] std::int32_t largest_payload() const { return largest_payload_; }
  // As on the wire, sizes included.
  [[nodiscard]] Bytes encoded() const { return encoded_; }
  // What the batch takes on disk: four more bytes a record, for the checksum.
  [[nodiscard]] std::int64_t bytes_on_disk() const {
    return static_cast<std::int64_t>(encoded_.size()) +
           std::int64_t{count_} * std::int64_t{sizeof(std::int32_t)};
  }

 private:
  Bytes encoded_;
  std::int32_t count_ = 0;
  std::int32_t largest_payload_ = 0;
};

struct ProduceRequest {
  std::string_view topic;
  PartitionId partition;
  AckPolicy acks = AckPolicy::none;
  RecordBatch records;
};

struct FetchRequest {
  std::string_view topic;
  PartitionId partition;
  Offset offset;
  std::int32_t max_bytes = 0;
  std::chrono::milliseconds max_wait{0};  // v1: 0; v2: clamped to kMaxFetchWaitMillis
  std::int32_t min_bytes = 0;             // v1: 0; at most max_bytes
};

struct MetadataRequest {
  std::int32_t topic_count = 0;  // 0: all topics
  Bytes names;                   // topic_count times (u16 length, valid name)

  // Calls visit(std::string_view) for each name, in the order of the request, repetitions included, until it
  // returns false.
  template <class Visit>
  void for_each_name(Visit visit) const {
    ByteReader reader(names);
    while (const auto length = reader.read<std::uint16_t>()) {
      if (!visit(as_text(*reader.read_bytes(*length)))) {
        return;
      }
    }
  }
};

struct Request {
  std::int32_t correlation_id = 0;
  std::variant<ProduceRequest, FetchRequest, MetadataRequest> body;
};

// Why a frame was not decoded.
struct Refusal {
  std::int32_t correlation_id = 0;  // 0 for a frame that is too short to have one
  WireError error = WireError::corrupt_request;
  // False: the PRODUCE asked for ackPolicy NONE, so nothing may be answered.
  bool answered = true;
  const char* reason = "";  // static text for logs: which rule, at which field
};

// Decodes the `frameLength` bytes behind the length field (at least one of them). Total: every input gives a
// request or a refusal. The order of checks is the contract's: header; apiKey and version; body fields in
// wire order, each rule at its field; bytes left over. Allocates nothing.
[[nodiscard]] std::expected<Request, Refusal> decode_request(Bytes frame);

enum class FrameStatus {
  incomplete,  // the length field or the frame has not fully arrived
  complete,
  bad_length,  // zero, negative or above kMaxFrameBytes: the connection cannot go on
};

struct FrameView {
  FrameStatus status = FrameStatus::incomplete;
  std::int32_t length = 0;  // announced; valid unless the length field itself is incomplete (then 0)
  Bytes frame;              // of a complete one, without the length field
};

// Looks at the first frame of `received`.
[[nodiscard]] FrameView peek_frame(Bytes received);

}  // namespace booblik::wire
