// Frames with a length in front of each: cutting a stream of them, drawing sound ones, and mending what a
// mutation broke.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "env/random.h"

namespace booblik::fuzz {

using Frame = std::vector<std::uint8_t>;  // without its length field

// Cuts at length fields; what cannot be a frame becomes one, as the last.
[[nodiscard]] std::vector<Frame> cut_frames(const std::uint8_t* data, std::size_t size);

// Writes them one behind the other, as many as fit.
[[nodiscard]] std::size_t put_frames(const std::vector<Frame>& frames, std::uint8_t* data,
                                     std::size_t max_size);

// A request that decodes.
[[nodiscard]] Frame draw_request(env::Random& random);
// Counts and lengths of a PRODUCE or a METADATA.
void mend_request(Frame& frame);

// An answer to a FETCH with a record or two.
[[nodiscard]] Frame draw_answer(env::Random& random);
// Sizes and checksums; what is not an answer to another request is made one to a FETCH.
void mend_answer(Frame& frame);
// All of them, numbered as a client numbers its requests: from 1.
void mend_answers(std::vector<Frame>& frames);

// Of an index file, without its checksum: entries, or a summary with damage, in which numbers are small and
// mostly ascend.
[[nodiscard]] Frame draw_block(env::Random& random);
// Its count follows its bytes.
void mend_block(Frame& frame);

// Gives every record whose size fits the right checksum, up to the first whose does not.
void mend_records(std::uint8_t* data, std::size_t size);

}  // namespace booblik::fuzz
