// docs/configuration.md and the table in code say the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "cli/settings.h"

namespace booblik::cli {
namespace {

std::string table() {
  std::string out = "| key | default | range | meaning |\n|---|---|---|---|\n";
  const broker::Options defaults;
  for (const Setting& setting : settings()) {
    const std::string value = setting.has_effect() ? fmt::format("`{}`", setting.value(defaults)) : "-";
    out += fmt::format("| `{}` | {} | {} | {} |\n", setting.key(), value, setting.range(), setting.help);
  }
  return out;
}

// The lines from the table's head to the first that is no row.
std::string table_in(const std::string& document) {
  const std::size_t begin = document.find("| key | default |");
  if (begin == std::string::npos) {
    return "";
  }
  std::size_t end = begin;
  while (end < document.size() && document[end] == '|') {
    end = document.find('\n', end);
    end = end == std::string::npos ? document.size() : end + 1;
  }
  return document.substr(begin, end - begin);
}

TEST(ConfigurationPage, HasTheTableOfTheCode) {
  std::ifstream file(BOOBLIK_CONFIGURATION_PAGE);
  const std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(table_in(document), table()) << "put this table into docs/configuration.md:\n" << table();
}

}  // namespace
}  // namespace booblik::cli
