#include "cli/record_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace booblik::cli {
namespace {

// Gives `text` in pieces of at most `piece` bytes.
RecordReader::Source in_pieces(std::string text, std::size_t piece) {
  return [text = std::move(text), piece,
          at = std::size_t{0}](MutableBytes buffer) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({piece, buffer.size(), text.size() - at});
    std::copy_n(as_bytes(text).begin() + static_cast<std::ptrdiff_t>(at), count, buffer.begin());
    at += count;
    return count;
  };
}

struct Reading {
  std::vector<std::string> records;
  std::string error;
};

Reading read(const std::string& text, InputMode mode, std::size_t piece = 1000,
             std::size_t record_bytes_max = 100) {
  RecordReader reader(in_pieces(text, piece), mode, record_bytes_max);
  Reading reading;
  while (true) {
    const auto record = reader.next();
    if (!record) {
      EXPECT_EQ(record.error().code, ErrorCode::invalid);
      reading.error = record.error().message;
      return reading;
    }
    if (!*record) {
      return reading;
    }
    reading.records.emplace_back(as_text(**record));
  }
}

std::string prefixed(const std::string& value) {
  std::string text(4, '\0');
  store_big_endian(reinterpret_cast<std::byte*>(text.data()), static_cast<std::int32_t>(value.size()));
  return text + value;
}

TEST(RecordReader, LinesLoseTheirNewlineAndNothingElse) {
  EXPECT_EQ(read("a\nb \r\n\nlast", InputMode::lines).records,
            (std::vector<std::string>{"a", "b \r", "", "last"}));
  EXPECT_EQ(read("a\n", InputMode::lines).records, std::vector<std::string>{"a"});
  EXPECT_TRUE(read("", InputMode::lines).records.empty());
  EXPECT_EQ(read("\n", InputMode::lines).records, std::vector<std::string>{""});
  EXPECT_EQ(read(std::string("a\0b\n", 4), InputMode::lines).records,
            std::vector<std::string>{std::string("a\0b", 3)});
}

TEST(RecordReader, NamesTheLineThatIsTooLong) {
  const std::string longest(100, 'x');
  EXPECT_EQ(read("a\n" + longest + "\n" + longest, InputMode::lines).records.size(), 3U);
  for (const char* end : {"x\n", "x"}) {
    const Reading reading = read("a\n" + longest + end, InputMode::lines, 7);
    EXPECT_EQ(reading.records, std::vector<std::string>{"a"});
    EXPECT_TRUE(reading.error.starts_with("line 2:")) << reading.error;
  }
}

TEST(RecordReader, ALongLineIsRefusedBeforeItIsAllRead) {
  std::int64_t given = 0;
  RecordReader reader(
      [&given](MutableBytes buffer) -> Result<std::size_t> {
        std::fill(buffer.begin(), buffer.end(), std::byte{'x'});
        given += static_cast<std::int64_t>(buffer.size());
        return buffer.size();
      },
      InputMode::lines, 3'000'000);
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_LE(given, 8'000'000);
}

TEST(RecordReader, LengthPrefixedTakesAnyBytes) {
  const std::string binary("\n\0\xFF", 3);
  EXPECT_EQ(read(prefixed(binary) + prefixed("") + prefixed("z"), InputMode::length_prefixed).records,
            (std::vector<std::string>{binary, "", "z"}));
  EXPECT_TRUE(read("", InputMode::length_prefixed).records.empty());
}

TEST(RecordReader, NamesTheRecordWhoseLengthIsWrong) {
  const std::string good = prefixed("good");
  for (const std::string& bad : {std::string("\0\0", 2), std::string("\xFF\xFF\xFF\xFF", 4),
                                 std::string("\0\0\0\x65", 4) + std::string(101, 'x'),
                                 std::string("\x7F\xFF\xFF\xFF", 4), prefixed("cut").substr(0, 6)}) {
    const Reading reading = read(good + bad, InputMode::length_prefixed, 3);
    EXPECT_EQ(reading.records, std::vector<std::string>{"good"});
    EXPECT_TRUE(reading.error.starts_with("record 2:")) << reading.error;
  }
}

TEST(RecordReader, WholeIsOneRecord) {
  EXPECT_EQ(read("a\nb\n", InputMode::whole, 1).records, std::vector<std::string>{"a\nb\n"});
  EXPECT_EQ(read("", InputMode::whole).records, std::vector<std::string>{""});
  EXPECT_EQ(read(std::string(100, 'x'), InputMode::whole).records.size(), 1U);
  EXPECT_FALSE(read(std::string(101, 'x'), InputMode::whole).error.empty());
}

TEST(RecordReader, PassesOnWhatTheSourceSays) {
  RecordReader reader([](MutableBytes) -> Result<std::size_t> { return fail(ErrorCode::io, "broken"); },
                      InputMode::lines, 100);
  EXPECT_EQ(reader.next().error().message, "broken");
}

RC_GTEST_PROP(RecordReader, AnyRecordsInAnyPiecesComeBack, ()) {
  const auto values = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
  const auto piece = *rc::gen::inRange<std::size_t>(1, 50);
  std::string framed;
  std::string lined;
  std::vector<std::string> lines;
  for (const std::string& value : values) {
    framed += prefixed(value);
    std::string line = value;
    std::erase(line, '\n');
    lined += line + "\n";
    lines.push_back(line);
  }
  RC_ASSERT(read(framed, InputMode::length_prefixed, piece, 10'000).records == values);
  RC_ASSERT(read(lined, InputMode::lines, piece, 10'000).records == lines);
}

}  // namespace
}  // namespace booblik::cli
