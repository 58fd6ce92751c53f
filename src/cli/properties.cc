#include "cli/properties.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace booblik::cli {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}
bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

struct LogicalLine {
  std::string text;  // continuations joined, escapes as they stand
  int line = 0;
};

// Cuts the text into logical lines: blank lines and comments dropped, continuation lines joined.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  std::optional<LogicalLine> next() {
    while (true) {
      skip_blanks();
      if (at_end()) {
        return std::nullopt;
      }
      if (text_[at_] == '#' || text_[at_] == '!') {
        skip_to_line_end();
      }
      if (at_end() || is_line_end(text_[at_])) {
        skip_line_end();
        continue;
      }
      return read_line();
    }
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  void skip_blanks() {
    while (!at_end() && is_blank(text_[at_])) {
      ++at_;
    }
  }

  void skip_to_line_end() {
    while (!at_end() && !is_line_end(text_[at_])) {
      ++at_;
    }
  }

  void skip_line_end() {
    if (at_end()) {
      return;
    }
    const bool two = text_.substr(at_, 2) == "\r\n";
    at_ += two ? 2 : 1;
    ++line_;
  }

  LogicalLine read_line() {
    LogicalLine result{.text = {}, .line = line_};
    while (!at_end() && !is_line_end(text_[at_])) {
      if (text_[at_] != '\\') {
        result.text += text_[at_++];
        continue;
      }
      ++at_;
      if (at_end()) {
        break;  // a backslash before nothing continues into nothing
      }
      if (is_line_end(text_[at_])) {
        skip_line_end();
        skip_blanks();
        continue;
      }
      result.text += '\\';
      result.text += text_[at_++];
    }
    skip_line_end();
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// Where the key ends: at the first separator that is not escaped.
std::size_t key_length(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && line[at] != '=' && line[at] != ':' && !is_blank(line[at])) {
    at += line[at] == '\\' ? 2 : 1;
  }
  return at;
}

// What follows the key: blanks, one `=` or `:`, blanks.
std::string_view value_after(std::string_view rest) {
  const auto skip = [&rest] {
    while (!rest.empty() && is_blank(rest.front())) {
      rest.remove_prefix(1);
    }
  };
  skip();
  if (!rest.empty() && (rest.front() == '=' || rest.front() == ':')) {
    rest.remove_prefix(1);
    skip();
  }
  return rest;
}

std::optional<std::int32_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return std::nullopt;
}

// The UTF-16 unit behind "\u", which takes four hexadecimal digits.
std::optional<std::int32_t> take_unit(std::string_view& rest) {
  if (rest.size() < 4) {
    return std::nullopt;
  }
  std::int32_t unit = 0;
  for (const char c : rest.substr(0, 4)) {
    const auto digit = hex_digit(c);
    if (!digit) {
      return std::nullopt;
    }
    unit = unit * 16 + *digit;
  }
  rest.remove_prefix(4);
  return unit;
}

// The code point behind "\u"; outside the basic plane it is written as two units (Unicode 15, section 3.9).
std::optional<std::int32_t> take_code_point(std::string_view& rest) {
  const auto first = take_unit(rest);
  if (!first || *first < 0xD800 || *first > 0xDFFF) {
    return first;
  }
  if (*first > 0xDBFF || !rest.starts_with("\\u")) {
    return std::nullopt;
  }
  rest.remove_prefix(2);
  const auto second = take_unit(rest);
  if (!second || *second < 0xDC00 || *second > 0xDFFF) {
    return std::nullopt;
  }
  return 0x10000 + (*first - 0xD800) * 0x400 + (*second - 0xDC00);
}

void append_utf8(std::string& out, std::int32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(code_point, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

char simple_escape(char c) {
  switch (c) {
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    default:
      return c;
  }
}

// nullopt: a \u escape that names no code point.
std::optional<std::string> unescape(std::string_view rest) {
  std::string out;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\' || rest.empty()) {
      out += c;
      continue;
    }
    const char escaped = rest.front();
    rest.remove_prefix(1);
    if (escaped != 'u') {
      out += simple_escape(escaped);
      continue;
    }
    const auto code_point = take_code_point(rest);
    if (!code_point) {
      return std::nullopt;
    }
    append_utf8(out, *code_point);
  }
  return out;
}

}  // namespace

Properties parse_properties(std::string_view text) {
  Properties result;
  if (text.size() > kPropertiesBytesMax) {
    result.problems.push_back(
        {1, fmt::format("the file has {} bytes; at most {} are read", text.size(), kPropertiesBytesMax)});
    return result;
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  LineReader lines(text);
  while (auto line = lines.next()) {
    const std::string_view whole = line->text;
    const std::size_t length = key_length(whole);
    auto key = unescape(whole.substr(0, length));
    auto value = unescape(value_after(whole.substr(length)));
    if (!key || !value) {
      result.problems.push_back(
          {line->line, "a \\u escape takes four hexadecimal digits that make a Unicode character"});
      continue;
    }
    result.entries.push_back({std::move(*key), std::move(*value), line->line});
  }
  return result;
}

}  // namespace booblik::cli
