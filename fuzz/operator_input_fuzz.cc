// What an operator types: variables, flags, addresses, output formats, and what is piped into `produce`. It
// is taken, or refused with a reason. The first byte chooses which; the rest is the text.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cli/configuration.h"
#include "cli/record_format.h"
#include "cli/record_reader.h"
#include "client/address.h"

namespace booblik::cli {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void check(const ConfigurationSources& sources) {
  const auto configuration = configure(sources);
  if (!configuration) {
    BOOBLIK_CHECK(!configuration.error().empty() && configuration.error().size() <= kProblemsMax,
                  "a refusal has reasons, and not too many");
    return;
  }
  BOOBLIK_CHECK(!describe(*configuration, Shown::all).empty(), "what was taken can be shown");
}

void try_variables(std::string_view text) {
  ConfigurationSources sources;
  for (const std::string& line : lines_of(text)) {
    const std::size_t sign = std::min(line.find('='), line.size());
    sources.environment.emplace_back("BOOBLIK_" + line.substr(0, sign),
                                     line.substr(std::min(sign + 1, line.size())));
  }
  check(sources);
}

// The first byte of a line chooses the setting.
void try_flags(std::string_view text) {
  ConfigurationSources sources;
  for (const std::string& line : lines_of(text)) {
    if (!line.empty()) {
      const auto which = static_cast<unsigned char>(line.front()) % settings().size();
      sources.flags.emplace_back(&settings()[which], line.substr(1));
    }
  }
  check(sources);
}

void try_address(std::string_view text) {
  const auto address = client::parse_address(text);
  if (!address) {
    BOOBLIK_CHECK(!address.error().message.empty(), "a refusal has a reason");
    return;
  }
  BOOBLIK_CHECK(client::parse_address(address->to_string()) == *address, "an address reads back");
}

void try_format(std::string_view text) {
  const auto format = RecordFormat::parse(text);
  if (!format) {
    BOOBLIK_CHECK(!format.error().message.empty(), "a refusal has a reason");
    return;
  }
  std::string out;
  format->append(out, "topic", PartitionId(0), Offset(1), as_bytes(text));
  RecordFormat::json_lines().append(out, "topic", PartitionId(0), Offset(1), as_bytes(text));
  BOOBLIK_CHECK(out.back() == '\n', "a line of JSON ends");
}

// Pieces of any size make the same records.
std::vector<std::string> read_records(std::string_view text, InputMode mode, std::size_t piece,
                                      bool& failed) {
  constexpr std::size_t kRecordMax = 64;
  std::vector<std::string> records;
  RecordReader reader(
      [&](MutableBytes into) -> Result<std::size_t> {
        const std::size_t count = std::min({piece, into.size(), text.size()});
        std::ranges::copy(as_bytes(text.substr(0, count)), into.begin());
        text.remove_prefix(count);
        return count;
      },
      mode, kRecordMax);
  while (true) {
    const auto record = reader.next();
    failed = !record;
    if (!record || !*record) {
      BOOBLIK_CHECK(!failed || !record.error().message.empty(), "a refusal has a reason");
      return records;
    }
    BOOBLIK_CHECK((*record)->size() <= kRecordMax, "no record is longer than allowed");
    records.emplace_back(as_text(**record));
  }
}

void try_records(std::string_view text, InputMode mode) {
  bool failed_whole = false;
  bool failed_cut = false;
  const auto whole = read_records(text, mode, text.size() + 1, failed_whole);
  const auto cut = read_records(text, mode, 1, failed_cut);
  BOOBLIK_CHECK(failed_whole == failed_cut && whole == cut, "it does not matter how an input is cut");
}

}  // namespace
}  // namespace booblik::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik::cli;
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 7) {
    case 0:
      try_variables(text);
      break;
    case 1:
      try_flags(text);
      break;
    case 2:
      try_address(text);
      break;
    case 3:
      try_format(text);
      break;
    case 4:
      try_records(text, InputMode::lines);
      break;
    case 5:
      try_records(text, InputMode::length_prefixed);
      break;
    default:
      try_records(text, InputMode::whole);
  }
  return 0;
}
