#include "cli/record_format.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "cli/text.h"

namespace booblik::cli {
namespace {

std::optional<int> hex_digit(char c) {
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

// What stands behind the backslash at text[at - 1]; moves `at` to its last character.
std::optional<char> unescape(std::string_view text, std::size_t& at) {
  switch (text[at]) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case '0':
      return '\0';
    case '\\':
      return '\\';
    case 'x':
      break;
    default:
      return std::nullopt;
  }
  const auto high = at + 1 < text.size() ? hex_digit(text[at + 1]) : std::nullopt;
  const auto low = at + 2 < text.size() ? hex_digit(text[at + 2]) : std::nullopt;
  if (!high || !low) {
    return std::nullopt;
  }
  at += 2;
  return static_cast<char>(*high * 16 + *low);
}

void append_number(std::string& out, std::int64_t number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

void append_json_line(std::string& out, std::string_view topic, PartitionId partition, Offset offset,
                      Bytes value) {
  out += R"({"topic":)";
  (void)append_json_string(out, as_bytes(topic));  // topic names are UTF-8
  out += R"(,"partition":)";
  append_number(out, partition.value());
  out += R"(,"offset":)";
  append_number(out, offset.value());
  out += R"(,"value":)";
  if (!append_json_string(out, value)) {
    out.erase(out.size() - std::string_view(R"(":)").size());
    out += R"(_base64":")";
    append_base64(out, value);
    out += '"';
  }
  out += "}\n";
}

}  // namespace

Result<RecordFormat> RecordFormat::parse(std::string_view text) {
  RecordFormat format;
  const auto bad = [text](std::size_t at, std::string_view what) {
    return fail(ErrorCode::invalid,
                fmt::format("--format {}: {} at character {}; %t %p %o %s %S %x %b %% and \\n \\t "
                            "\\r \\0 \\\\ \\xNN are known",
                            in_quotes(text), what, at + 1));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t start = i;
    if (text[i] != '%' && text[i] != '\\') {
      format.add_text(text[i]);
      continue;
    }
    if (++i == text.size()) {
      return bad(start, "an escape is cut off");
    }
    if (text[start] == '\\') {
      const auto c = unescape(text, i);
      if (!c) {
        return bad(start, "an unknown escape");
      }
      format.add_text(*c);
      continue;
    }
    static constexpr std::string_view kLetters = "tposSxb";
    static constexpr Kind kKinds[] = {Kind::topic,  Kind::partition, Kind::offset, Kind::value,
                                      Kind::length, Kind::hex,       Kind::base64};
    const std::size_t letter = kLetters.find(text[i]);
    if (text[i] == '%') {
      format.add_text('%');
    } else if (letter != std::string_view::npos) {
      format.pieces_.push_back({kKinds[letter], {}});
    } else {
      return bad(start, "an unknown escape");
    }
  }
  return format;
}

RecordFormat RecordFormat::json_lines() {
  RecordFormat format;
  format.pieces_.push_back({Kind::json_line, {}});
  return format;
}

void RecordFormat::add_text(char c) {
  if (pieces_.empty() || pieces_.back().kind != Kind::text) {
    pieces_.push_back({Kind::text, {}});
  }
  pieces_.back().text += c;
}

void RecordFormat::append(std::string& out, std::string_view topic, PartitionId partition, Offset offset,
                          Bytes value) const {
  for (const Piece& piece : pieces_) {
    switch (piece.kind) {
      case Kind::text:
        out += piece.text;
        break;
      case Kind::topic:
        out += topic;
        break;
      case Kind::partition:
        append_number(out, partition.value());
        break;
      case Kind::offset:
        append_number(out, offset.value());
        break;
      case Kind::value:
        out += as_text(value);
        break;
      case Kind::length:
        append_number(out, static_cast<std::int64_t>(value.size()));
        break;
      case Kind::hex:
        append_hex(out, value);
        break;
      case Kind::base64:
        append_base64(out, value);
        break;
      case Kind::json_line:
        append_json_line(out, topic, partition, offset, value);
        break;
    }
  }
}

}  // namespace booblik::cli
