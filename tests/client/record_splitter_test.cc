#include "client/record_splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "fake_broker.h"
#include "wire/protocol.h"

namespace booblik::client {
namespace {

std::vector<std::string> texts(const std::vector<Record>& records) {
  std::vector<std::string> result;
  for (const Record& record : records) {
    result.emplace_back(as_text(record.value));
  }
  return result;
}

TEST(RecordSplitter, NumbersWholeRecords) {
  FakeBroker::Partition log;
  log.append(as_bytes("one"));
  log.append(as_bytes("three"));
  std::vector<Record> records;
  const SplitEnd end = split_records(log.log, Offset(7), records);
  EXPECT_EQ(texts(records), (std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(records[0].offset, Offset(7));
  EXPECT_EQ(records[1].offset, Offset(8));
  EXPECT_EQ(end.next, Offset(9));
  EXPECT_EQ(end.tail_bytes, 0U);
  EXPECT_EQ(end.corrupt, nullptr);
  EXPECT_EQ(records[0].value.data(), log.log.data() + 8);  // not copied
}

TEST(RecordSplitter, DropsTheTailWhereverItIsCut) {
  FakeBroker::Partition log;
  log.append(as_bytes("ab"));     // 10 bytes
  log.append(as_bytes("cdefg"));  // 13 bytes
  for (std::size_t size = 0; size <= log.log.size(); ++size) {
    std::vector<Record> records;
    const SplitEnd end = split_records(Bytes(log.log).first(size), Offset(0), records);
    const std::size_t whole = size < 10 ? 0 : size < 23 ? 1 : 2;
    const std::size_t tail = size - (whole == 0 ? 0 : whole == 1 ? 10 : 23);
    EXPECT_EQ(records.size(), whole) << size;
    EXPECT_EQ(end.next, Offset(static_cast<std::int64_t>(whole)));
    EXPECT_EQ(end.tail_bytes, tail);
    EXPECT_EQ(end.corrupt, nullptr);
    if (tail >= 4) {
      EXPECT_EQ(end.tail_record_bytes, whole == 0 ? 2 : 5);
    } else {
      EXPECT_FALSE(end.tail_record_bytes.has_value());
    }
  }
}

TEST(RecordSplitter, StopsAtACorruptRecord) {
  FakeBroker::Partition log;
  log.append(as_bytes("good"));  // 12 bytes
  log.append(as_bytes("bad"));
  log.append(as_bytes("behind"));
  for (const std::size_t at : {16U, 19U, 20U, 22U}) {  // a byte of the checksum, of the payload
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto bytes = log.log;
      bytes[at] ^= static_cast<std::byte>(1U << bit);
      std::vector<Record> records;
      const SplitEnd end = split_records(bytes, Offset(0), records);
      EXPECT_EQ(texts(records), std::vector<std::string>{"good"});
      EXPECT_EQ(end.next, Offset(1));
      EXPECT_STRNE(end.corrupt, nullptr);
    }
  }
}

TEST(RecordSplitter, BelievesNoImpossibleSize) {
  for (const std::int32_t size : {0, -1, INT32_MIN, wire::kMaxRecordPayloadBytes + 1, INT32_MAX}) {
    std::vector<std::byte> bytes(100);
    store_big_endian(bytes.data(), size);
    for (const std::size_t length : {4U, 8U, 100U}) {
      std::vector<Record> records;
      const SplitEnd end = split_records(Bytes(bytes).first(length), Offset(3), records);
      EXPECT_TRUE(records.empty());
      EXPECT_EQ(end.next, Offset(3));
      EXPECT_STRNE(end.corrupt, nullptr) << size;
    }
  }
}

RC_GTEST_PROP(RecordSplitter, AnyCutOfAnyLogGivesAPrefix, ()) {
  const auto payloads =
      *rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(rc::gen::arbitrary<std::string>()));
  FakeBroker::Partition log;
  for (const std::string& payload : payloads) {
    log.append(as_bytes(payload));
  }
  const auto size = *rc::gen::inRange<std::size_t>(0, log.log.size() + 1);
  std::vector<Record> records;
  const SplitEnd end = split_records(Bytes(log.log).first(size), Offset(0), records);
  RC_ASSERT(end.corrupt == nullptr);
  RC_ASSERT(records.size() <= payloads.size());
  RC_ASSERT(std::equal(
      records.begin(), records.end(), payloads.begin(),
      [](const Record& record, const std::string& payload) { return as_text(record.value) == payload; }));
  const std::size_t consumed = size - end.tail_bytes;
  RC_ASSERT(consumed == (records.size() == payloads.size() ? log.log.size() : log.positions[records.size()]));
}

TEST(RecordSplitter, NumbersNothingBeyondTheLastOffset) {
  FakeBroker::Partition log;
  log.append(as_bytes("one"));
  log.append(as_bytes("two"));
  const Offset last(std::numeric_limits<std::int64_t>::max());
  std::vector<Record> records;
  const SplitEnd end = split_records(log.log, last - 1, records);
  EXPECT_EQ(texts(records), std::vector<std::string>{"one"});
  EXPECT_EQ(end.next, last);
  EXPECT_NE(end.corrupt, nullptr);
}

RC_GTEST_PROP(RecordSplitter, ArbitraryBytesAreSurvived, (const std::vector<std::uint8_t>& raw)) {
  std::vector<Record> records;
  const Bytes bytes = std::as_bytes(std::span(raw));
  const SplitEnd end = split_records(bytes, Offset(0), records);
  RC_ASSERT(end.next - Offset(0) == static_cast<std::int64_t>(records.size()));
  RC_ASSERT(end.tail_bytes <= bytes.size());
}

}  // namespace
}  // namespace booblik::client
