// The numbers of the protocol: docs/protocol.md in constants.
#pragma once

#include <cstdint>

namespace booblik::wire {

enum class ApiKey : std::int16_t { produce = 1, fetch = 2, metadata = 3 };

// The only codes that are ever sent; known clients break on others.
enum class WireError : std::int16_t {
  none = 0,
  unknown_topic_or_partition = 1,
  offset_out_of_range = 2,
  record_too_large = 3,
  unsupported_version = 4,
  corrupt_request = 5,
};

enum class AckPolicy : std::int8_t {
  none = 0,     // never answered
  written = 1,  // answered when the bytes are in the file: survives the process, not the power
  forced = 2,   // answered when a barrier covers them
};

inline constexpr std::int32_t kFrameLengthBytes = 4;
// A longer request closes the connection; a longer response is refused by known clients.
inline constexpr std::int32_t kMaxFrameBytes = 8'388'608;
inline constexpr std::int32_t kRequestHeaderBytes = 8;        // apiKey, apiVersion, correlationId
inline constexpr std::int32_t kResponseHeaderBytes = 6;       // correlationId, errorCode
inline constexpr std::int32_t kFetchResponseFixedBytes = 12;  // highWatermark, payloadBytes

// What is left of a response frame for the payload of a FETCH.
inline constexpr std::int32_t kMaxFetchPayloadBytes =
    kMaxFrameBytes - kResponseHeaderBytes - kFetchResponseFixedBytes;
static_assert(kMaxFetchPayloadBytes == 8'388'590);

// A record on disk and in a FETCH answer: int32 payloadSize, int32 crc32c(payload), payload.
inline constexpr std::int32_t kRecordHeaderBytes = 8;

// No client could ever fetch a larger one.
inline constexpr std::int32_t kMaxRecordPayloadBytes = kMaxFetchPayloadBytes - kRecordHeaderBytes;
static_assert(kMaxRecordPayloadBytes == 8'388'582);

inline constexpr std::int32_t kMaxTopicNameBytes = 249;
inline constexpr std::int32_t kMaxFetchWaitMillis = 60'000;

}  // namespace booblik::wire
