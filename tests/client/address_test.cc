#include "client/address.h"

#include <gtest/gtest.h>

namespace booblik::client {
namespace {

TEST(Address, ReadsHostAndPort) {
  EXPECT_EQ(*parse_address("127.0.0.1:9092"), (Address{"127.0.0.1", 9092}));
  EXPECT_EQ(*parse_address("broker.example:1"), (Address{"broker.example", 1}));
  EXPECT_EQ(*parse_address("broker"), (Address{"broker", kDefaultPort}));
  EXPECT_EQ(*parse_address("[::1]:65535"), (Address{"::1", 65535}));
  EXPECT_EQ(*parse_address("[::1]"), (Address{"::1", kDefaultPort}));
}

TEST(Address, IsWrittenAsItIsRead) {
  for (const char* text : {"127.0.0.1:9092", "broker:1", "[::1]:65535"}) {
    EXPECT_EQ(parse_address(text)->to_string(), text);
  }
}

TEST(Address, RefusesTheRestAndSaysWhatToWrite) {
  for (const char* text :
       {"",        ":",       ":9092",      "host:", "host:0",    "host:65536", "host:9o92",
        "host:-1", "host: 1", "[::1",       "[]:1",  "[::1]9092", "::1",        "a:b:1",
        "[[]",     "a]:1",    "tcp://host", "a b:1", "a\tb",      "host\n:1"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_EQ(address.error().code, ErrorCode::invalid);
    EXPECT_NE(address.error().message.find("HOST:PORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace booblik::client
