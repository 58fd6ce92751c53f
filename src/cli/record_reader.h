// Cuts an input into records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace booblik::cli {

enum class InputMode {
  lines,            // each ends with a newline, which is not part of it; the last may lack it
  length_prefixed,  // int32 big-endian, then so many bytes
  whole,            // all of the input is one record
};

class RecordReader {
 public:
  // Puts up to so many bytes into the buffer, as many as are there, and returns how many: 0 is the end. May
  // park.
  using Source = std::move_only_function<Result<std::size_t>(MutableBytes)>;

  // Memory is bounded by about twice `record_bytes_max`, whatever the input holds or announces.
  RecordReader(Source source, InputMode mode, std::size_t record_bytes_max);

  // The next record, also an empty one; nothing at the end. The view lives until the next call. `invalid`
  // names the record that is too long, has a negative length, or is cut short by the end. May park.
  Result<std::optional<Bytes>> next();

  // "line 17", "record 17" or "the input": the one that next gave last, or failed at.
  [[nodiscard]] std::string where() const;

 private:
  Result<std::optional<Bytes>> next_line();
  Result<std::optional<Bytes>> next_prefixed();
  Result<std::optional<Bytes>> next_whole();

  // Reads more behind what is there; false at the end of the input.
  Result<bool> fill();
  // Until `count` bytes are there; false when the input ends before.
  Result<bool> fill_to(std::size_t count);
  [[nodiscard]] Bytes available() const { return {buffer_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] Bytes take(std::size_t count);
  [[nodiscard]] std::unexpected<Error> too_long() const;

  Source source_;
  InputMode mode_;
  std::size_t record_bytes_max_;
  std::unique_ptr<std::byte[]> buffer_;  // [begin_, end_) is read and not given out
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::int64_t number_ = 0;
};

}  // namespace booblik::cli
