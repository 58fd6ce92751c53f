#include "client/batch_accumulator.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "virtual_world.h"
#include "wire/request.h"

namespace booblik::client {
namespace {

class BatchAccumulatorTest : public testing::Test {
 protected:
  BatchAccumulator make(std::size_t frame_bytes, std::int32_t records) {
    return {clock, "t", 3, wire::AckPolicy::written, {.frame_bytes = frame_bytes, .records = records}};
  }

  static std::vector<std::string> payloads_of(Batch& batch) {
    const Bytes frame = batch.frame.finish(1);
    const auto request = wire::decode_request(wire::peek_frame(frame).frame);
    std::vector<std::string> payloads;
    for (const Bytes payload : std::get<wire::ProduceRequest>(request->body).records) {
      payloads.emplace_back(as_text(payload));
    }
    EXPECT_EQ(std::get<wire::ProduceRequest>(request->body).partition, batch.partition);
    return payloads;
  }

  VirtualScheduler clock;
};

TEST_F(BatchAccumulatorTest, SealsByRecords) {
  auto accumulator = make(1000, 2);
  EXPECT_EQ(accumulator.add(PartitionId(1), as_bytes("a")), (Ticket{0, 0}));
  EXPECT_FALSE(accumulator.has_sealed());
  EXPECT_EQ(accumulator.add(PartitionId(1), as_bytes("b")), (Ticket{0, 1}));
  EXPECT_TRUE(accumulator.has_sealed());
  EXPECT_EQ(accumulator.add(PartitionId(1), as_bytes("c")), (Ticket{1, 0}));
  const auto batch = accumulator.take_sealed();
  EXPECT_EQ(batch->number, 0U);
  EXPECT_EQ(payloads_of(*batch), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(accumulator.take_sealed(), nullptr);
  EXPECT_FALSE(accumulator.empty());
}

TEST_F(BatchAccumulatorTest, SealsByBytesBeforeARecordThatDoesNotFit) {
  auto accumulator = make(100, 1000);
  const std::string record(40, 'x');
  accumulator.add(PartitionId(0), as_bytes(record));
  EXPECT_FALSE(accumulator.has_sealed());
  accumulator.add(PartitionId(0), as_bytes(record));
  ASSERT_TRUE(accumulator.has_sealed());
  EXPECT_LE(accumulator.take_sealed()->frame.size(), 100U);
}

TEST_F(BatchAccumulatorTest, ALargeRecordIsABatchOfItsOwn) {
  auto accumulator = make(100, 1000);
  accumulator.add(PartitionId(0), as_bytes("small"));
  accumulator.add(PartitionId(0), as_bytes(std::string(5000, 'x')));
  EXPECT_EQ(payloads_of(*accumulator.take_sealed()), std::vector<std::string>{"small"});
  EXPECT_EQ(payloads_of(*accumulator.take_sealed()), std::vector<std::string>{std::string(5000, 'x')});
}

TEST_F(BatchAccumulatorTest, TakesTheLargestPayload) {
  auto accumulator = make(100, 1000);
  const std::vector<std::byte> largest(accumulator.payload_bytes_max(), std::byte{1});
  EXPECT_GT(largest.size(), 8'388'000U);
  accumulator.add(PartitionId(0), as_bytes("x"));
  accumulator.add(PartitionId(0), largest);
  EXPECT_EQ(accumulator.sealed_count(), 2U);
}

TEST_F(BatchAccumulatorTest, SealsTheOldestFirst) {
  auto accumulator = make(1000, 1000);
  accumulator.add(PartitionId(2), as_bytes("first"));
  const Instant opened = clock.now();
  EXPECT_TRUE(clock.run([this] { (void)clock.park(Deadline(clock.now() + std::chrono::seconds(1))); }));
  accumulator.add(PartitionId(0), as_bytes("second"));
  EXPECT_EQ(accumulator.oldest_opened(), opened);
  accumulator.seal_opened_until(opened);
  EXPECT_EQ(accumulator.sealed_count(), 1U);
  accumulator.seal_all();
  EXPECT_EQ(accumulator.take_sealed()->partition, PartitionId(2));
  EXPECT_EQ(accumulator.take_sealed()->partition, PartitionId(0));
  EXPECT_EQ(accumulator.oldest_opened(), std::nullopt);
  EXPECT_TRUE(accumulator.empty());
}

TEST_F(BatchAccumulatorTest, CountsWhatItHoldsAndReusesBatches) {
  auto accumulator = make(1000, 1);
  for (int i = 0; i < 3; ++i) {
    accumulator.add(PartitionId(i), as_bytes("value"));
    EXPECT_GT(accumulator.buffered_bytes(), 5U);
    auto batch = accumulator.take_sealed();
    EXPECT_EQ(accumulator.buffered_bytes(), 0U);
    EXPECT_EQ(payloads_of(*batch), std::vector<std::string>{"value"});
    accumulator.recycle(std::move(batch));
  }
}

}  // namespace
}  // namespace booblik::client
