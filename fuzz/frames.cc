#include "frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/ids.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::fuzz {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kFetchRecordsAt = 18;  // in a FETCH answer: id, error, high watermark, size

std::int32_t load(const std::uint8_t* at) {
  return load_big_endian<std::int32_t>(reinterpret_cast<const std::byte*>(at));
}

void store(std::uint8_t* at, std::int32_t value) {
  store_big_endian(reinterpret_cast<std::byte*>(at), value);
}

constexpr std::size_t kBlockHeaderBytes = 8;  // of an index file: kind, count
constexpr std::size_t kEntryBytes = 16;
constexpr std::size_t kSummaryBytes = 56;
constexpr std::size_t kDamageBytes = 32;

// Makes what lies from `at` on in a row of items, each behind its length of `width` bytes, and returns their
// number: a length that does not fit is that of the rest.
std::int32_t mend_items(Frame& frame, std::size_t at, std::size_t width) {
  std::int32_t count = 0;
  while (frame.size() > at + width) {
    const std::size_t rest = frame.size() - at - width;
    std::size_t length = 0;
    for (std::size_t i = 0; i < width; ++i) {
      length = (length << 8U) | frame[at + i];
    }
    if (length == 0 || length > rest) {
      length = rest;
      for (std::size_t i = width; i > 0; --i) {
        frame[at + i - 1] = static_cast<std::uint8_t>(length >> (8 * (width - i)));
      }
    }
    at += width + length;
    ++count;
  }
  frame.resize(std::min(at, frame.size()));
  return count;
}

void mend_fetch_answer(Frame& frame) {
  if (frame.size() >= kFetchRecordsAt) {
    const std::size_t records = frame.size() - kFetchRecordsAt;
    store(frame.data() + kFetchRecordsAt - kLengthBytes, static_cast<std::int32_t>(records));
    mend_records(frame.data() + kFetchRecordsAt, records);
  }
}

}  // namespace

std::vector<Frame> cut_frames(const std::uint8_t* data, std::size_t size) {
  std::vector<Frame> frames;
  while (size > 0) {
    const std::int32_t length = size >= kLengthBytes ? load(data) : 0;
    if (length <= 0 || static_cast<std::size_t>(length) > size - kLengthBytes) {
      const std::size_t skip = std::min(size, kLengthBytes);
      frames.emplace_back(data + skip, data + size);
      break;
    }
    const std::size_t whole = kLengthBytes + static_cast<std::size_t>(length);
    frames.emplace_back(data + kLengthBytes, data + whole);
    data += whole;
    size -= whole;
  }
  return frames;
}

std::size_t put_frames(const std::vector<Frame>& frames, std::uint8_t* data, std::size_t max_size) {
  std::size_t at = 0;
  for (const Frame& frame : frames) {
    if (frame.empty() || frame.size() + kLengthBytes > max_size - at) {
      continue;
    }
    store(data + at, static_cast<std::int32_t>(frame.size()));
    std::memcpy(data + at + kLengthBytes, frame.data(), frame.size());
    at += kLengthBytes + frame.size();
  }
  return at;
}

void mend_records(std::uint8_t* data, std::size_t size) {
  while (size >= 8) {
    const std::int32_t length = load(data);
    if (length <= 0 || static_cast<std::size_t>(length) > size - 8) {
      return;
    }
    const auto payload = static_cast<std::size_t>(length);
    store(data + 4,
          static_cast<std::int32_t>(crc32c({reinterpret_cast<const std::byte*>(data) + 8, payload})));
    data += 8 + payload;
    size -= 8 + payload;
  }
}

Frame draw_request(env::Random& random) {
  static constexpr std::array<std::string_view, 3> kTopics = {"t", "я", "unknown"};
  static constexpr std::array<std::int32_t, 5> kBytes = {1, 7, 30, 300, 100'000};
  const std::string_view topic = kTopics[random.below(16) == 0 ? 2 : random.below(2)];
  const PartitionId partition(static_cast<std::int32_t>(random.below(3)));
  const auto id = static_cast<std::int32_t>(random.next());
  std::vector<std::byte> out;
  switch (random.below(4)) {
    case 0:
    case 1: {
      static constexpr std::array<std::byte, 320> kPayload{std::byte{'p'}};
      std::vector<Bytes> payloads;
      for (std::uint64_t i = 0; i <= random.below(4); ++i) {
        payloads.push_back(Bytes(kPayload).first(1 + random.below(random.one_in(8) ? 320 : 40)));
      }
      wire::encode_produce(out, id, topic, partition, static_cast<wire::AckPolicy>(random.below(3)),
                           payloads);
      break;
    }
    case 2: {
      const std::int32_t max_bytes = kBytes[random.below(kBytes.size())];
      const auto wait = std::chrono::milliseconds(random.one_in(2) ? 0 : random.below(70'000));
      wire::encode_fetch(out, id, topic, partition, Offset(static_cast<std::int64_t>(random.below(8))),
                         max_bytes, wait,
                         static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(max_bytes) + 1)));
      break;
    }
    default:
      wire::encode_metadata(out, id, std::span(&topic, random.below(2)));
  }
  const auto* begin = reinterpret_cast<const std::uint8_t*>(out.data());
  return {begin + kLengthBytes, begin + out.size()};
}

void mend_request(Frame& frame) {
  constexpr std::size_t kTopicAt = 8;
  if (frame.size() < kTopicAt + kLengthBytes || frame[0] != 0) {
    return;
  }
  if (frame[1] == 3) {
    store(frame.data() + kTopicAt, mend_items(frame, kTopicAt + kLengthBytes, 2));
  }
  const std::size_t count_at = kTopicAt + 2 + (std::size_t{frame[kTopicAt]} << 8U | frame[kTopicAt + 1]) + 5;
  if (frame[1] == 1 && frame.size() > count_at + kLengthBytes) {
    const std::int32_t count = mend_items(frame, count_at + kLengthBytes, kLengthBytes);
    store(frame.data() + count_at, count);
  }
}

Frame draw_answer(env::Random& random) {
  Frame frame(kFetchRecordsAt);
  store(frame.data(), static_cast<std::int32_t>(random.below(5)));
  frame[13] = static_cast<std::uint8_t>(random.below(8));
  for (std::uint64_t i = 0; i <= random.below(3); ++i) {
    const std::size_t at = frame.size();
    const std::size_t size = 1 + random.below(20);
    frame.resize(at + 8 + size, 'r');
    store(frame.data() + at, static_cast<std::int32_t>(size));
  }
  mend_fetch_answer(frame);
  return frame;
}

void mend_answer(Frame& frame) {
  const Bytes bytes = std::as_bytes(std::span(frame));
  if (!wire::decode_metadata_response(bytes) && !wire::decode_produce_response(bytes)) {
    mend_fetch_answer(frame);
  }
}

void mend_answers(std::vector<Frame>& frames) {
  std::int32_t id = 0;
  for (Frame& frame : frames) {
    mend_answer(frame);
    if (frame.size() >= kLengthBytes) {
      store(frame.data(), ++id);
    }
  }
}

void mend_block(Frame& frame) {
  if (frame.size() < kBlockHeaderBytes) {
    return;
  }
  const bool entries = load(frame.data()) == 1;
  const std::size_t fixed = kBlockHeaderBytes + (entries ? 0 : kSummaryBytes);
  const std::size_t item = entries ? kEntryBytes : kDamageBytes;
  const std::size_t count = frame.size() < fixed ? 0 : (frame.size() - fixed) / item;
  frame.resize(fixed + count * item);
  store(frame.data() + kLengthBytes, static_cast<std::int32_t>(count));
}

// A block of entries, or a summary with damage, in which numbers are small and mostly ascend.
Frame draw_block(env::Random& random) {
  Frame frame(kBlockHeaderBytes);
  const bool entries = random.one_in(2);
  store(frame.data(), entries ? 1 : 2);
  std::int64_t number = static_cast<std::int64_t>(random.below(100));
  for (std::uint64_t items = (entries ? 0 : 7) + 4 * random.below(4); items > 0; --items) {
    frame.resize(frame.size() + sizeof number);
    number += static_cast<std::int64_t>(random.below(4));
    store_big_endian(reinterpret_cast<std::byte*>(frame.data() + frame.size() - sizeof number), number);
  }
  mend_block(frame);
  return frame;
}

}  // namespace booblik::fuzz
