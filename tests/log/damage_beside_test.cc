// Lookups that go on while another one finds out what is damaged.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "env/posix/environment.h"
#include "env/random.h"
#include "env/sync.h"
#include "log/record.h"
#include "log_world.h"

namespace booblik::log {
namespace {

constexpr std::int64_t kRecords = 8;
constexpr std::size_t kRecordBytes = 64;  // on disk

std::string payload_at(std::int64_t offset) {
  std::string payload(kRecordBytes - kRecordHeaderBytes, static_cast<char>('a' + offset));
  return payload;
}

// One sealed segment of which nothing is in memory, with an index entry for every other record.
void make_cold_segment(LogWorld& world) {
  ASSERT_TRUE(world.open());
  std::vector<std::string> payloads;
  for (std::int64_t offset = 0; offset < kRecords; ++offset) {
    payloads.push_back(payload_at(offset));
  }
  ASSERT_TRUE(world.append(payloads));
  ASSERT_TRUE(world.append({std::string(500, 'z')}));  // seals
  world.stop();
  ASSERT_TRUE(world.open());
}

LogOptions options() {
  return {.segment_capacity_bytes = 600, .index_interval_bytes = 2 * kRecordBytes};
}

std::byte& byte_of(LogWorld& world, std::int64_t offset, std::size_t byte) {
  return world.disk.content(LogWorld::path(0))[static_cast<std::size_t>(offset) * kRecordBytes + byte];
}

class DamageBesideALookup : public ::testing::Test {
 protected:
  // What `look` gets when the record at 6 is looked up while it reads its first header.
  template <class Look>
  auto while_damage_is_found(Look look) {
    make_cold_segment(world);
    byte_of(world, 2, 20) ^= std::byte{1};  // the payload: headers still lead past it
    byte_of(world, 6, 3) ^= std::byte{64};  // the size
    bool found = false;
    world.disk.intercept = [&](MemoryDisk::Operation operation, const std::string& path) {
      const bool reads = operation == MemoryDisk::Operation::read && path == LogWorld::path(0);
      if (reads && !std::exchange(found, true)) {
        EXPECT_EQ(world.read(6).error().code, ErrorCode::damaged);
      }
      return MemoryDisk::Verdict{};
    };
    auto result = look();
    world.disk.intercept = nullptr;
    EXPECT_TRUE(found);
    EXPECT_TRUE(world.probe.hits.contains("log.damage_found_under_lookup"));
    return result;
  }

  LogWorld world{options()};
};

TEST_F(DamageBesideALookup, ARecordThatTurnsOutDamagedMeanwhileIsNotServed) {
  const auto slice = while_damage_is_found([this] { return world.log->read(Offset(2), 1000); });
  ASSERT_FALSE(slice) << slice->bytes << " bytes";
  EXPECT_EQ(slice.error().code, ErrorCode::damaged);
}

TEST_F(DamageBesideALookup, NothingIsAvailableOfARecordThatTurnsOutDamagedMeanwhile) {
  const auto available = while_damage_is_found([this] { return world.log->available(Offset(2)); });
  ASSERT_FALSE(available) << available->bytes_now << " bytes";
  EXPECT_EQ(available.error().code, ErrorCode::damaged);
}

TEST_F(DamageBesideALookup, ARecordInFrontEndsWhereTheDamageBegins) {
  const auto slice = while_damage_is_found([this] { return world.log->read(Offset(1), 1000); });
  ASSERT_TRUE(slice) << slice.error().message;
  EXPECT_EQ(slice->position, Position(kRecordBytes));
  EXPECT_EQ(slice->bytes, static_cast<std::int64_t>(kRecordBytes));
}

// Readers of a segment in which some bytes flip, each read of the disk a point where others run: each gets
// whole sound records of its offset on, or an error.
class ReadersBesideRot {
 public:
  ReadersBesideRot(env::Environment& env, std::uint64_t seed)
      : env_(env), random_(seed), fibers_(env.scheduler), world_(options()) {
    world_.index_bytes_max = random_.one_in(2) ? 0 : 4096;
  }

  void run() {
    make_cold_segment(world_);
    for (std::uint64_t flips = 1 + random_.below(3); flips > 0; --flips) {
      byte_of(world_, static_cast<std::int64_t>(random_.below(kRecords)), random_.below(kRecordBytes)) ^=
          std::byte{1};
    }
    world_.disk.intercept = [this](MemoryDisk::Operation, const std::string&) {
      for (std::uint64_t turns = random_.below(4); turns > 0; --turns) {
        env_.scheduler.yield();
      }
      return MemoryDisk::Verdict{};
    };
    for (int reader = 0; reader < 3; ++reader) {
      fibers_.add();
      env_.scheduler.spawn("reader", [this] {
        for (int times = 0; times < 6; ++times) {
          read(static_cast<std::int64_t>(random_.below(kRecords)));
        }
        fibers_.done();
      });
    }
    ASSERT_TRUE(fibers_.wait(Deadline::never()));
    world_.disk.intercept = nullptr;
    for (std::int64_t offset = 0; offset < kRecords; ++offset) {
      read(offset);
    }
    found_under_lookup = world_.probe.hits.contains("log.damage_found_under_lookup");
  }

  std::int64_t served = 0;
  std::int64_t refused = 0;
  bool found_under_lookup = false;

 private:
  void read(std::int64_t offset) {
    const auto available = world_.log->available(Offset(offset));
    EXPECT_TRUE(!available || (available->bytes_now > 0 && available->bytes_ever >= available->bytes_now));
    const auto slice = world_.log->read(Offset(offset), 1000);
    if (!slice) {
      EXPECT_EQ(slice.error().code, ErrorCode::damaged) << slice.error().message;
      ++refused;
      return;
    }
    ASSERT_GT(slice->bytes, 0) << "at " << offset;
    EXPECT_EQ(slice->position, Position(offset * static_cast<std::int64_t>(kRecordBytes)));
    EXPECT_EQ(slice->bytes % static_cast<std::int64_t>(kRecordBytes), 0);
    ++served;
  }

  env::Environment& env_;
  env::Random random_;
  env::WaitGroup fibers_;
  LogWorld world_;
};

TEST(DamageBesideLookups, ReadersGetRecordsOrAnError) {
  env::SystemCalls system;
  auto environment = env::PosixEnvironment::create({}, system);
  ASSERT_TRUE(environment);
  std::int64_t served = 0;
  std::int64_t refused = 0;
  std::int64_t found_under_lookup = 0;
  (*environment)->run([&] {
    env::Environment roles = (*environment)->roles();
    for (std::uint64_t seed = 1; seed <= 500 && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      ReadersBesideRot readers(roles, seed);
      readers.run();
      served += readers.served;
      refused += readers.refused;
      found_under_lookup += readers.found_under_lookup ? 1 : 0;
    }
  });
  EXPECT_GT(served, 1000);
  EXPECT_GT(refused, 300);
  EXPECT_GT(found_under_lookup, 20);
}

}  // namespace
}  // namespace booblik::log
