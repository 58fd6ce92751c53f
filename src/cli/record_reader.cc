#include "cli/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace booblik::cli {
namespace {

constexpr std::size_t kFirstCapacity = 1024 * 1024;

}  // namespace

RecordReader::RecordReader(Source source, InputMode mode, std::size_t record_bytes_max)
    : source_(std::move(source)),
      mode_(mode),
      record_bytes_max_(record_bytes_max),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kFirstCapacity)),
      capacity_(kFirstCapacity) {}

Result<std::optional<Bytes>> RecordReader::next() {
  ++number_;
  switch (mode_) {
    case InputMode::lines:
      return next_line();
    case InputMode::length_prefixed:
      return next_prefixed();
    case InputMode::whole:
      break;
  }
  return next_whole();
}

std::string RecordReader::where() const {
  switch (mode_) {
    case InputMode::lines:
      return fmt::format("line {}", number_);
    case InputMode::length_prefixed:
      return fmt::format("record {}", number_);
    case InputMode::whole:
      break;
  }
  return "the input";
}

Result<std::optional<Bytes>> RecordReader::next_line() {
  std::size_t searched = 0;
  while (true) {
    const Bytes there = available();
    const void* newline = there.size() > searched
                              ? std::memchr(there.data() + searched, '\n', there.size() - searched)
                              : nullptr;
    if (newline != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const std::byte*>(newline) - there.data());
      if (length > record_bytes_max_) {
        return too_long();
      }
      return take(length + 1).first(length);
    }
    if (there.size() > record_bytes_max_) {
      return too_long();
    }
    searched = there.size();
    const auto more = fill();
    if (!more) {
      return std::unexpected(more.error());
    }
    if (!*more) {
      return searched == 0 ? std::nullopt : std::optional(take(searched));
    }
  }
}

Result<std::optional<Bytes>> RecordReader::next_prefixed() {
  constexpr std::size_t kPrefix = sizeof(std::int32_t);
  auto complete = fill_to(kPrefix);
  if (!complete) {
    return std::unexpected(complete.error());
  }
  if (!*complete) {
    if (available().empty()) {
      return std::nullopt;
    }
    return fail(ErrorCode::invalid, fmt::format("{}: the input ends inside its length", where()));
  }
  const auto size = load_big_endian<std::int32_t>(available().data());
  if (size < 0) {
    return fail(ErrorCode::invalid,
                fmt::format("{}: its length is {}; lengths are int32, big-endian", where(), size));
  }
  const auto length = static_cast<std::size_t>(size);
  if (length > record_bytes_max_) {
    return too_long();
  }
  complete = fill_to(kPrefix + length);
  if (!complete) {
    return std::unexpected(complete.error());
  }
  if (!*complete) {
    return fail(ErrorCode::invalid, fmt::format("{}: the input ends {} bytes short of its length {}", where(),
                                                kPrefix + length - available().size(), length));
  }
  return take(kPrefix + length).subspan(kPrefix);
}

Result<std::optional<Bytes>> RecordReader::next_whole() {
  if (number_ > 1) {
    return std::nullopt;
  }
  const auto more = fill_to(record_bytes_max_ + 1);
  if (!more) {
    return std::unexpected(more.error());
  }
  if (*more) {
    return too_long();
  }
  return take(available().size());
}

Result<bool> RecordReader::fill_to(std::size_t count) {
  while (available().size() < count) {
    const auto more = fill();
    if (!more || !*more) {
      return more;
    }
  }
  return true;
}

Result<bool> RecordReader::fill() {
  if (at_end_) {
    return false;
  }
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity_ * 2);
    std::copy_n(buffer_.get(), end_, larger.get());
    buffer_ = std::move(larger);
    capacity_ *= 2;
  }
  const auto count = source_({buffer_.get() + end_, capacity_ - end_});
  if (!count) {
    return std::unexpected(count.error());
  }
  at_end_ = *count == 0;
  end_ += *count;
  return !at_end_;
}

Bytes RecordReader::take(std::size_t count) {
  const Bytes taken = available().first(count);
  begin_ += count;
  return taken;
}

std::unexpected<Error> RecordReader::too_long() const {
  return fail(ErrorCode::invalid, fmt::format("{}: a record has at most {} bytes, this one is longer",
                                              where(), record_bytes_max_));
}

}  // namespace booblik::cli
