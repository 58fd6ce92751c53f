// How `consume` writes a record: percent escapes, or JSON lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace booblik::cli {

// A format is parsed once and then costs no allocation per record beyond what the output needs.
class RecordFormat {
 public:
  // Escapes: %t topic, %p partition, %o offset, %s value, %S its length in bytes, %x in hex, %b in base64,
  // %% a percent sign; \n \t \r \0 \\ and \xNN. `invalid` says what is wrong and where.
  static Result<RecordFormat> parse(std::string_view text);

  // {"topic":"t","partition":0,"offset":17,"value":"..."} and a newline; "value_base64" instead of "value"
  // when the bytes are not UTF-8.
  static RecordFormat json_lines();

  void append(std::string& out, std::string_view topic, PartitionId partition, Offset offset,
              Bytes value) const;

 private:
  enum class Kind { text, topic, partition, offset, value, length, hex, base64, json_line };
  struct Piece {
    Kind kind;
    std::string text;
  };

  void add_text(char c);

  std::vector<Piece> pieces_;
};

void append_hex(std::string& out, Bytes bytes);
// RFC 4648, with padding.
void append_base64(std::string& out, Bytes bytes);
// A JSON string with its quotes. False, and nothing appended, when the bytes are not UTF-8.
[[nodiscard]] bool append_json_string(std::string& out, Bytes bytes);

}  // namespace booblik::cli
