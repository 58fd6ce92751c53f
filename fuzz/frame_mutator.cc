#include "frame_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/ids.h"
#include "env/random.h"
#include "wire/request_encoder.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

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

// A request that decodes.
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

void mutate_bytes(Frame& frame, std::size_t room) {
  const std::size_t size = frame.size();
  const std::size_t max_size = std::max<std::size_t>(1, size + std::min<std::size_t>(room, size + 32));
  frame.resize(max_size);
  frame.resize(LLVMFuzzerMutate(frame.data(), size, max_size));
}

void mutate_frames(std::vector<Frame>& frames, std::size_t room, env::Random& random,
                   const std::function<Frame(env::Random&)>& draw) {
  if (frames.empty() || random.one_in(4)) {
    frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(random.below(frames.size() + 1)),
                  draw(random));
    return;
  }
  const std::size_t which = random.below(frames.size());
  switch (random.below(8)) {
    case 0:
      frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(which));
      break;
    case 1:
      frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(which), Frame(frames[which]));
      break;
    case 2:
      std::swap(frames[which], frames[random.below(frames.size())]);
      break;
    default:
      mutate_bytes(frames[which], room);
  }
}

std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                   std::size_t prefix, const std::function<Frame(env::Random&)>& draw,
                   const std::function<void(Frame&)>& mend) {
  env::Random random(seed);
  if (size < prefix || max_size <= prefix || random.one_in(10)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  if (random.one_in(10)) {
    LLVMFuzzerMutate(data, prefix, prefix);
    return size;
  }
  std::vector<Frame> frames = cut_frames(data + prefix, size - prefix);
  mutate_frames(frames, max_size - std::min(size, max_size), random, draw);
  if (!random.one_in(8)) {
    std::ranges::for_each(frames, mend);
  }
  return prefix + put_frames(frames, data + prefix, max_size - prefix);
}

void mend_answer(Frame& frame) {
  if (frame.size() > kFetchRecordsAt) {
    const std::size_t records = frame.size() - kFetchRecordsAt;
    store(frame.data() + kFetchRecordsAt - kLengthBytes, static_cast<std::int32_t>(records));
    mend_records(frame.data() + kFetchRecordsAt, records);
  }
}

// An answer to a FETCH with a record or two.
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
  mend_answer(frame);
  return frame;
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

std::size_t mutate_requests(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                            std::size_t prefix) {
  return mutate(data, size, max_size, seed, prefix, draw_request, [](Frame&) {});
}

std::size_t mutate_answers(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                           std::size_t prefix) {
  return mutate(data, size, max_size, seed, prefix, draw_answer, mend_answer);
}

}  // namespace booblik::fuzz
