// The golden vectors of conformance/vectors, which a second implementation made, against the code of this
// project.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "client/partitioner.h"

namespace booblik {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<Row> read_tsv(const std::string& name) {
  const char* folder = std::getenv("BOOBLIK_VECTORS");
  EXPECT_NE(folder, nullptr) << "set BOOBLIK_VECTORS to conformance/vectors";
  std::ifstream file(std::string(folder != nullptr ? folder : ".") + "/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::vector<std::string> columns;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) {
      continue;
    }
    const auto fields = fields_of(line);
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    EXPECT_EQ(fields.size(), columns.size()) << line;
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size() && i < fields.size(); ++i) {
      row[columns[i]] = fields[i];
    }
  }
  return rows;
}

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::uint32_t word_of(const std::string& hex) {
  return static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16));
}

TEST(Vectors, Crc32c) {
  const auto rows = read_tsv("crc32c.tsv");
  EXPECT_GE(rows.size(), 25U);
  for (const Row& row : rows) {
    const auto data = bytes_of(row.at("data"));
    EXPECT_EQ(crc32c(data), word_of(row.at("crc32c"))) << row.at("name");
    std::vector<std::byte> copy(data.size());
    EXPECT_EQ(crc32c_copy(copy.data(), data), word_of(row.at("crc32c"))) << row.at("name");
  }
}

TEST(Vectors, Partitioner) {
  const auto rows = read_tsv("partitioner.tsv");
  EXPECT_GE(rows.size(), 20U);
  for (const Row& row : rows) {
    const auto key = bytes_of(row.at("key"));
    EXPECT_EQ(client::fnv1a(key), word_of(row.at("fnv1a"))) << row.at("name");
    for (const std::int32_t count : {1, 2, 3, 4, 16, 64}) {
      EXPECT_EQ(client::partition_for_key(key, count).value(),
                std::stoi(row.at(std::string(1, 'p').append(std::to_string(count)))))
          << row.at("name") << " over " << count;
    }
  }
}

// Each mistake that a client makes in practice has to show in some vector, or the vectors are too weak.
TEST(Vectors, CatchTheUsualMistakes) {
  bool signed_bytes = false;
  bool multiply_first = false;
  bool signed_remainder = false;
  for (const Row& row : read_tsv("partitioner.tsv")) {
    std::uint32_t with_signed_bytes = 0x811C9DC5U;
    std::uint32_t multiplied_first = 0x811C9DC5U;
    for (const std::byte byte : bytes_of(row.at("key"))) {
      const auto widened =
          static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(byte)));
      with_signed_bytes = (with_signed_bytes ^ widened) * 0x01000193U;
      multiplied_first = (multiplied_first * 0x01000193U) ^ static_cast<std::uint32_t>(byte);
    }
    const std::uint32_t right = word_of(row.at("fnv1a"));
    signed_bytes |=
        with_signed_bytes % 3 != right % 3;  // the low byte of the hash is the same: only p3 shows it
    multiply_first |= multiplied_first % 16 != right % 16;
    signed_remainder |= static_cast<std::int32_t>(right) % 3 != static_cast<std::int32_t>(right % 3);
  }
  EXPECT_TRUE(signed_bytes);
  EXPECT_TRUE(multiply_first);
  EXPECT_TRUE(signed_remainder);
}

}  // namespace
}  // namespace booblik
