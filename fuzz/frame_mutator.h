// Changes a stream of frames so that most of it stays frames: libFuzzer's own mutations alone hit a length
// field sooner or later, and nothing behind it is looked at any more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace booblik::fuzz {

// For LLVMFuzzerCustomMutator: the first `prefix` bytes are the target's own, the rest are frames. Now and
// then plain bytes are changed all the same, lengths included.
std::size_t mutate_requests(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                            std::size_t prefix);
// Answers with records in them, whose sizes, checksums and correlation ids are mostly mended.
std::size_t mutate_answers(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                           std::size_t prefix);
// Blocks of an index file without their checksums.
std::size_t mutate_blocks(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed);

}  // namespace booblik::fuzz
