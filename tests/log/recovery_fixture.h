// A log to recover: segments and a recovery point put on a disk in memory, then opened.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "log_world.h"

namespace booblik::log {

using Payloads = std::vector<std::string>;
using Content = MemoryDisk::Content;

inline Content operator+(Content left, const Content& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline Content zeros(std::size_t count) {
  return Content(count);
}

// Three records of 18 bytes make a segment.
inline Content segment(int first) {
  return encode(Payloads{std::to_string(1000000000LL + first), std::to_string(1000000001LL + first),
                         std::to_string(1000000002LL + first)});
}

inline std::string payload(int offset) {
  return std::to_string(1000000000LL + offset);
}

class RecoveryTest : public ::testing::Test {
 protected:
  void put(int base, Content content) { world.disk.put(LogWorld::path(base), std::move(content)); }

  void open() {
    const auto opened = world.open();
    ASSERT_TRUE(opened) << opened.error().message;
  }

  // A start whose sync of that segment fails.
  void fail_to_open_for_want_of_a_sync(int base) {
    world.disk.intercept = [base](MemoryDisk::Operation operation, const std::string& path) {
      return operation == MemoryDisk::Operation::sync && path == LogWorld::path(base)
                 ? MemoryDisk::Verdict{.error = ErrorCode::io}
                 : MemoryDisk::Verdict{};
    };
    ASSERT_FALSE(world.open());
    world.disk.intercept = nullptr;
  }

  // The recovery point, in the segment with that base.
  void vouch(int offset, int segment_base, int position) {
    world.checkpoint = PartitionCheckpoint{
        {"t", PartitionId(0)}, Offset(offset), Offset(segment_base), Position(position), {}, {}};
  }

  void expect_payloads(int from, int to) {
    for (int offset = from; offset < to; ++offset) {
      const auto found = world.read(offset);
      ASSERT_TRUE(found) << offset << ": " << found.error().message;
      ASSERT_EQ(*found, payload(offset));
    }
  }

  void expect_damaged(int from, int to) {
    for (int offset = from; offset < to; ++offset) {
      const auto found = world.read(offset);
      ASSERT_FALSE(found) << offset;
      ASSERT_EQ(found.error().code, ErrorCode::damaged) << offset;
    }
  }

  // Whatever was found, the log goes on behind it, and what is appended is there after a restart.
  void expect_goes_on() {
    const std::int64_t end = world.log->end_offset().value();
    ASSERT_TRUE(world.append({"goes on"}));
    EXPECT_EQ(world.read(end), "goes on");
    world.stop();
    open();
    EXPECT_EQ(world.read(end), "goes on");
    EXPECT_EQ(world.log->end_offset(), Offset(end + 1));
  }

  // A second start finds nothing to do.
  void expect_idempotent() {
    const auto after_one = world.disk.snapshot();
    const auto checkpoint = world.checkpoint;
    open();
    EXPECT_EQ(world.disk.snapshot(), after_one);
    world.checkpoint = checkpoint;
  }

  LogWorld world{{.segment_capacity_bytes = 60, .index_interval_bytes = 1}};
};

}  // namespace booblik::log
