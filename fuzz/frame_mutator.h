// Changes a stream of frames so that most of it stays frames: libFuzzer's own mutations alone hit a length
// field sooner or later, and nothing behind it is looked at any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace booblik::fuzz {

using Frame = std::vector<std::uint8_t>;  // without its length field

// Cuts at length fields; what cannot be a frame becomes one, as the last.
[[nodiscard]] std::vector<Frame> cut_frames(const std::uint8_t* data, std::size_t size);

// Writes them one behind the other, as many as fit.
[[nodiscard]] std::size_t put_frames(const std::vector<Frame>& frames, std::uint8_t* data,
                                     std::size_t max_size);

// For LLVMFuzzerCustomMutator: the first `prefix` bytes are the target's own, the rest are frames. Now and
// then plain bytes are changed all the same, lengths included.
std::size_t mutate_requests(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                            std::size_t prefix);
// Answers with records in them, whose sizes and checksums are mostly mended.
std::size_t mutate_answers(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed,
                           std::size_t prefix);

// Gives every record whose size fits the right checksum, up to the first whose does not.
void mend_records(std::uint8_t* data, std::size_t size);

}  // namespace booblik::fuzz
