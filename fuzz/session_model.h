// What a broker has to answer to a stream of bytes, and what it has to store, when nobody else writes to
// these partitions and nothing fails. Written from the contract; frames are cut and decoded by src/wire,
// which the request decoder's own target holds to account.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "wire/request.h"
#include "wire/response.h"

namespace booblik::fuzz {

inline constexpr const char* kCompanionTopic = "honest";  // of another client, which works beside
inline constexpr std::int64_t kCapacity = 300;            // of a segment; no record is larger

struct PartitionModel {
  std::vector<std::byte> bytes;            // all records as they lie on disk
  std::vector<std::size_t> ends;           // of each record in `bytes`
  std::vector<std::size_t> batch_ends{0};  // counts of records at which a batch ends

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(ends.size()); }
  [[nodiscard]] std::size_t start_of(std::int64_t offset) const {
    return offset == 0 ? 0 : ends[static_cast<std::size_t>(offset) - 1];
  }

  void add(Bytes payload) {
    const std::size_t at = bytes.size();
    bytes.resize(at + wire::kRecordHeaderBytes + payload.size());
    store_big_endian(bytes.data() + at, static_cast<std::int32_t>(payload.size()));
    store_big_endian(bytes.data() + at + 4, crc32c(payload));
    std::ranges::copy(payload, bytes.begin() + static_cast<std::ptrdiff_t>(at) + wire::kRecordHeaderBytes);
    ends.push_back(bytes.size());
  }
};

using PartitionName = std::pair<std::string, std::int32_t>;
using Partitions = std::map<PartitionName, PartitionModel>;

struct ErrorExpected {
  wire::WireError error;
};
struct ProduceExpected {
  const PartitionModel* partition;
  std::int64_t base;
  std::int64_t records;
};
struct FetchExpected {
  const PartitionModel* partition;
  std::int64_t offset;
  std::int64_t max_bytes;
  std::int64_t end_at_least;  // what the requests before it have stored
};
struct MetadataExpected {
  std::vector<std::string> names;
};
struct Expected {
  std::int32_t correlation_id;
  std::variant<ErrorExpected, ProduceExpected, FetchExpected, MetadataExpected> what;
};

class SessionModel {
 public:
  // Topic names to partition counts.
  explicit SessionModel(const std::map<std::string, std::int32_t>& topics) : topics_(topics) {
    for (const auto& [name, count] : topics) {
      for (std::int32_t number = 0; number < count && name != kCompanionTopic; ++number) {
        partitions_[{name, number}];
      }
    }
  }

  // Reads the whole stream; answers() are then what is due, in order.
  void take(Bytes stream) {
    while (true) {
      const wire::FrameView view = wire::peek_frame(stream);
      if (view.status != wire::FrameStatus::complete) {
        return;
      }
      take_frame(view.frame);
      stream = stream.subspan(wire::kFrameLengthBytes + view.frame.size());
    }
  }

  [[nodiscard]] const std::vector<Expected>& answers() const { return answers_; }
  [[nodiscard]] const Partitions& partitions() const { return partitions_; }
  [[nodiscard]] bool touches_companion() const { return touches_companion_; }

 private:
  void expect(std::int32_t id, decltype(Expected::what) what) { answers_.push_back({id, std::move(what)}); }

  void take_frame(Bytes frame) {
    const auto decoded = wire::decode_request(frame);
    if (!decoded) {
      if (decoded.error().answered) {
        expect(decoded.error().correlation_id, ErrorExpected{decoded.error().error});
      }
      return;
    }
    std::visit([&](const auto& body) { take_request(decoded->correlation_id, body); }, decoded->body);
  }

  [[nodiscard]] PartitionModel* find(std::string_view topic, PartitionId partition) {
    touches_companion_ = touches_companion_ || topic == kCompanionTopic;
    const auto found = partitions_.find({std::string(topic), partition.value()});
    return found == partitions_.end() ? nullptr : &found->second;
  }

  void take_request(std::int32_t id, const wire::ProduceRequest& request) {
    PartitionModel* partition = find(request.topic, request.partition);
    wire::WireError error = wire::WireError::none;
    if (partition == nullptr) {
      error = wire::WireError::unknown_topic_or_partition;
    } else if (request.records.largest_payload() + wire::kRecordHeaderBytes > kCapacity) {
      error = wire::WireError::record_too_large;
    }
    const bool silent = request.acks == wire::AckPolicy::none;
    if (error != wire::WireError::none) {
      if (!silent) {
        expect(id, ErrorExpected{error});
      }
      return;
    }
    if (!silent) {
      expect(id, ProduceExpected{partition, partition->count(), request.records.count()});
    }
    for (const Bytes payload : request.records) {
      partition->add(payload);
    }
    partition->batch_ends.push_back(partition->ends.size());
  }

  void take_request(std::int32_t id, const wire::FetchRequest& request) {
    PartitionModel* partition = find(request.topic, request.partition);
    if (partition == nullptr) {
      expect(id, ErrorExpected{wire::WireError::unknown_topic_or_partition});
      return;
    }
    expect(id, FetchExpected{partition, request.offset.value(), request.max_bytes, partition->count()});
  }

  void take_request(std::int32_t id, const wire::MetadataRequest& request) {
    MetadataExpected metadata;
    bool known = true;
    request.for_each_name([&](std::string_view name) {
      metadata.names.emplace_back(name);
      known = known && topics_.contains(metadata.names.back());
      return true;
    });
    if (!known) {
      expect(id, ErrorExpected{wire::WireError::unknown_topic_or_partition});
      return;
    }
    if (request.topic_count == 0) {
      for (const auto& [name, count] : topics_) {
        metadata.names.push_back(name);
      }
    }
    std::ranges::sort(metadata.names);
    const auto repeated = std::ranges::unique(metadata.names);
    metadata.names.erase(repeated.begin(), repeated.end());
    expect(id, std::move(metadata));
  }

  std::map<std::string, std::int32_t> topics_;
  Partitions partitions_;
  std::vector<Expected> answers_;
  bool touches_companion_ = false;
};

// --- an answer against what was expected ---

inline void check_answer(Bytes frame, const ErrorExpected& expected) {
  BOOBLIK_CHECK(frame.size() == wire::kResponseHeaderBytes, "an error has no body");
  BOOBLIK_CHECK(wire::decode_response_header(frame)->error == expected.error, "the error is the contract's");
}

inline void check_answer(Bytes frame, const ProduceExpected& expected) {
  const auto answer = wire::decode_produce_response(frame);
  BOOBLIK_CHECK(answer.has_value(), "a PRODUCE is answered as one");
  BOOBLIK_CHECK(answer->base_offset == Offset(expected.base),
                "records are numbered in the order in which they came");
  BOOBLIK_CHECK(answer->log_end_offset >= Offset(expected.base + expected.records) &&
                    answer->log_end_offset <= Offset(expected.partition->count()),
                "the end of the log is behind the batch, and not beyond what was sent");
}

inline void check_answer(Bytes frame, const FetchExpected& expected) {
  const PartitionModel& partition = *expected.partition;
  const auto header = wire::decode_response_header(frame);
  BOOBLIK_CHECK(header.has_value(), "an answer has a header");
  if (header->error != wire::WireError::none) {
    BOOBLIK_CHECK(
        header->error == wire::WireError::offset_out_of_range && expected.offset > expected.end_at_least,
        "only an offset that is not there yet is out of range");
    BOOBLIK_CHECK(frame.size() == wire::kResponseHeaderBytes, "an error has no body");
    return;
  }
  const auto answer = wire::decode_fetch_response(frame);
  BOOBLIK_CHECK(answer.has_value(), "a FETCH is answered as one");
  const std::int64_t end = answer->high_watermark.value();
  BOOBLIK_CHECK(end >= expected.end_at_least && end <= partition.count(),
                "the high watermark covers what was sent before, and nothing that was never sent");
  BOOBLIK_CHECK(expected.offset <= end, "an offset above the high watermark is out of range");
  const std::size_t from = partition.start_of(expected.offset);
  const std::size_t available = partition.start_of(end) - from;
  BOOBLIK_CHECK(answer->payload.empty() == (available == 0), "an empty payload means caught up");
  BOOBLIK_CHECK(answer->payload.size() <= std::min(available, static_cast<std::size_t>(expected.max_bytes)),
                "a payload is cut at maxBytes and at the high watermark");
  BOOBLIK_CHECK(
      std::ranges::equal(answer->payload, Bytes(partition.bytes).subspan(from, answer->payload.size())),
      "a FETCH serves the stored bytes");
}

inline void check_answer(Bytes frame, const MetadataExpected& expected, const Partitions& partitions) {
  const auto topics = wire::decode_metadata_response(frame);
  BOOBLIK_CHECK(topics.has_value(), "a METADATA is answered as one");
  std::vector<std::string> names;
  for (const wire::TopicMetadata& topic : *topics) {
    names.push_back(topic.name);
    std::int32_t number = 0;
    for (const wire::PartitionMetadata& partition : topic.partitions) {
      BOOBLIK_CHECK(partition.partition == PartitionId(number), "partitions are in order");
      const auto known = partitions.find({topic.name, number++});
      if (topic.name == kCompanionTopic) {
        continue;
      }
      BOOBLIK_CHECK(known != partitions.end() && partition.log_start == Offset(0) &&
                        partition.high_watermark <= Offset(known->second.count()),
                    "a partition says what it holds");
    }
  }
  BOOBLIK_CHECK(names == expected.names, "the topics that were asked for, sorted, each once");
}

}  // namespace booblik::fuzz
