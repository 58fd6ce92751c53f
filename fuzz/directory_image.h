// A data directory made from an input: segments out of good and bad records, index files that tell the truth
// or lie with the right checksums, checkpoints, foreign names. Plain bytes would never get past the first
// header.
#pragma once

#include <string>

#include "input_reader.h"
#include "memory_disk.h"

namespace booblik::fuzz {

inline constexpr const char* kTopic = "t";
inline constexpr std::int32_t kPartitions = 2;
inline constexpr std::int64_t kIndexInterval = 64;

// Puts it into `disk`, under `path`. Reads `input` to its end, or until it has made enough files.
void put_directory(InputReader& input, log::MemoryDisk& disk, const std::string& path);

}  // namespace booblik::fuzz
