#include "frame_mutator.h"

#include <algorithm>
#include <array>
#include <functional>

#include "env/random.h"
#include "frames.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace booblik::fuzz {
namespace {

// A number at which rules change, somewhere: of two, four or eight bytes; also how many bytes lie behind it.
void put_boundary(Frame& frame, env::Random& random) {
  const std::size_t width = std::size_t{2} << random.below(3);
  if (frame.size() < width) {
    return;
  }
  const std::size_t at = random.below(frame.size() - width + 1);
  const std::uint64_t behind = frame.size() - width - at;
  const std::uint64_t highest = std::uint64_t{1} << (8 * width - 1);
  const std::array<std::uint64_t, 8> numbers = {0,          1,      ~std::uint64_t{0}, highest - 1, highest,
                                                behind - 1, behind, behind + 1};
  std::uint64_t number = numbers[random.below(numbers.size())];
  for (std::size_t i = width; i > 0; --i, number >>= 8U) {
    frame[at + i - 1] = static_cast<std::uint8_t>(number);
  }
}

// A piece of it once more, or not at all: records, names and entries lie in rows.
void repeat_or_drop_piece(Frame& frame, std::size_t room, env::Random& random) {
  if (frame.empty()) {
    return;
  }
  const std::size_t at = random.below(frame.size());
  const std::size_t size = 1 + random.below(std::min<std::size_t>(frame.size() - at, 64));
  const auto begin = frame.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = begin + static_cast<std::ptrdiff_t>(size);
  if (random.one_in(2)) {
    frame.erase(begin, end);
  } else if (size <= room) {
    const Frame piece(begin, end);
    frame.insert(end, piece.begin(), piece.end());
  }
}

void mutate_bytes(Frame& frame, std::size_t room) {
  const std::size_t size = frame.size();
  const std::size_t max_size = std::max<std::size_t>(1, size + std::min<std::size_t>(room, size + 32));
  frame.resize(max_size);
  frame.resize(LLVMFuzzerMutate(frame.data(), size, max_size));
}

void mutate_frame(Frame& frame, std::size_t room, env::Random& random) {
  switch (random.below(6)) {
    case 0:
      put_boundary(frame, random);
      break;
    case 1:
      repeat_or_drop_piece(frame, room, random);
      break;
    default:
      mutate_bytes(frame, room);
  }
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
      mutate_frame(frames[which], room, random);
  }
}

struct Format {
  std::function<Frame(env::Random&)> draw;
  std::function<void(std::vector<Frame>&)> mend;
};

std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                   std::size_t prefix, const Format& format) {
  env::Random random(seed);
  if (size < prefix || max_size <= prefix || random.one_in(10)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  if (prefix > 0 && random.one_in(10)) {
    LLVMFuzzerMutate(data, prefix, prefix);
    return size;
  }
  std::vector<Frame> frames = cut_frames(data + prefix, size - prefix);
  mutate_frames(frames, max_size - std::min(size, max_size), random, format.draw);
  if (!random.one_in(8)) {
    format.mend(frames);
  }
  return prefix + put_frames(frames, data + prefix, max_size - prefix);
}

}  // namespace

std::size_t mutate_requests(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                            std::size_t prefix) {
  return mutate(data, size, max_size, seed, prefix,
                {draw_request, [](auto& frames) { std::ranges::for_each(frames, mend_request); }});
}

std::size_t mutate_answers(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                           std::size_t prefix) {
  return mutate(data, size, max_size, seed, prefix, {draw_answer, mend_answers});
}

std::size_t mutate_blocks(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed) {
  return mutate(data, size, max_size, seed, 0,
                {draw_block, [](auto& frames) { std::ranges::for_each(frames, mend_block); }});
}

}  // namespace booblik::fuzz
