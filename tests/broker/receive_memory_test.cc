// Who gets receive memory, when, and who is cut for it; in virtual time.
#include "broker/receive_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../sim/test_world.h"

namespace booblik::broker {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kFrame = 8 * kMiB;

// Fibers that ask for memory, each noting when it was granted.
class ReceiveMemoryTest : public ::testing::Test {
 protected:
  // 64 MiB: 32 are open (24 of them to large frames), and four frames are finished at a time.
  explicit ReceiveMemoryTest(std::int64_t bytes_max = 64 * kMiB)
      : memory_(environment().scheduler, environment().clock, bytes_max, milliseconds(1000)) {}

  env::Environment& environment() { return world_.world().outside_environment(); }
  [[nodiscard]] std::int64_t now_ms() {
    return std::chrono::duration_cast<milliseconds>(world_.world().now().since_start()).count();
  }

  // At `at_ms` it wishes for `bytes` and keeps them for `hold_ms`.
  void spawn_wish(std::string name, std::int64_t at_ms, std::size_t bytes, std::int64_t hold_ms,
                  std::size_t frame_bytes = kFrame) {
    world_.world().spawn(name, [this, name, at_ms, bytes, hold_ms, frame_bytes] {
      park_until(at_ms);
      std::optional<ReceiveMemory::Place> place;
      env::Event nothing(environment().scheduler);
      ReceiveMemory::Wish wish(memory_, place, bytes, frame_bytes, ReceiveMemory::Block());
      while (!wish.granted()) {
        wish.wait(nothing);
      }
      const ReceiveMemory::Block block = wish.take();
      granted_.push_back(name + "@" + std::to_string(now_ms()));
      park_until(now_ms() + hold_ms);
    });
  }

  // At 0 it takes `bytes`, and its peer brings `bytes_per_step` every `step_ms`, until it is cut.
  void spawn_holder(std::string name, std::size_t bytes, std::size_t bytes_per_step, std::int64_t step_ms,
                    std::int64_t until_ms) {
    world_.world().spawn(name, [this, name, bytes, bytes_per_step, step_ms, until_ms] {
      std::optional<ReceiveMemory::Place> place;
      ReceiveMemory::Wish wish(memory_, place, bytes, kFrame, ReceiveMemory::Block());
      ASSERT_TRUE(wish.granted()) << name;
      const ReceiveMemory::Block block = wish.take();
      bool cut = false;
      const env::FiberId self = environment().scheduler.current();
      FramePace pace([&](Duration) {
        cut = true;
        environment().scheduler.unpark(self);
      });
      while (!cut && now_ms() < until_ms) {
        memory_.paces().begin_wait(pace, environment().clock.now());
        park_until(now_ms() + step_ms);
        memory_.paces().end_wait(pace, environment().clock.now());
        pace.note_received(bytes_per_step);
      }
      if (cut) {
        cut_.push_back(name + "@" + std::to_string(now_ms()));
      }
    });
  }

  void park_until(std::int64_t ms) { environment().scheduler.park(Deadline(Instant(milliseconds(ms)))); }

  sim::TestWorld world_{sim::DiskOptions{}, sim::NetworkOptions{}, 1, sim::Policy::fifo};
  ReceiveMemory memory_;
  std::vector<std::string> granted_;
  std::vector<std::string> cut_;
};

using Names = std::vector<std::string>;

TEST_F(ReceiveMemoryTest, TheOpenHalfIsForWhoeverAsksAndFourMoreAreFinished) {
  for (const char* name : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    spawn_wish(name, 1, 8 * kMiB, 100);
  }
  world_.run_on();
  // Three fit three quarters of the open half, four are finished, the eighth has to wait.
  EXPECT_EQ(granted_, (Names{"1@1", "2@1", "3@1", "4@1", "5@1", "6@1", "7@1", "8@101"}));
  EXPECT_EQ(memory_.open_bytes_used(), 0);
  EXPECT_EQ(memory_.finishing(), 0);
}

TEST_F(ReceiveMemoryTest, FreedMemoryGoesToWhoCameFirstEvenIfALaterOneWouldFit) {
  for (const char* name : {"a", "b", "c", "d"}) {
    spawn_wish(name, 1, 8 * kMiB, 1000);  // finished beyond what is open
  }
  spawn_wish("open", 0, 24 * kMiB, 500);
  spawn_wish("large", 10, 24 * kMiB, 100);
  spawn_wish("later", 20, 128 * kKiB, 100);
  world_.run_on();
  EXPECT_EQ(granted_, (Names{"open@0", "a@1", "b@1", "c@1", "d@1", "large@500", "later@600"}));
}

TEST_F(ReceiveMemoryTest, AFrameKeepsItsPlaceWhenItWantsMore) {
  spawn_wish("open", 0, 24 * kMiB, 1000);
  for (const char* name : {"a", "b", "c", "d"}) {
    spawn_wish(name, 1, 8 * kMiB, 500);
  }
  world_.world().spawn("first", [this] {
    std::optional<ReceiveMemory::Place> place;
    env::Event nothing(environment().scheduler);
    ReceiveMemory::Block block;
    park_until(2);
    {
      // Gives up its wish before it is granted, as a connection does that is closing, and comes again.
      const ReceiveMemory::Wish wish(memory_, place, kMiB, kFrame, block);
      EXPECT_FALSE(wish.granted());
    }
    ASSERT_TRUE(place);
    park_until(20);
    ReceiveMemory::Wish again(memory_, place, 24 * kMiB, kFrame, block);
    while (!again.granted()) {
      again.wait(nothing);
    }
    granted_.push_back("first@" + std::to_string(now_ms()));
  });
  spawn_wish("second", 10, 24 * kMiB, 100);
  world_.run_on();
  ASSERT_EQ(granted_.size(), 7U);
  EXPECT_EQ(granted_[5], "first@501");
}

TEST_F(ReceiveMemoryTest, AFinisherGoesOnWithoutWaiting) {
  spawn_wish("open", 0, 24 * kMiB, 1000);
  for (const char* name : {"a", "b", "c"}) {
    spawn_wish(name, 1, 8 * kMiB, 500);
  }
  world_.world().spawn("finisher", [this] {
    park_until(2);
    std::optional<ReceiveMemory::Place> place;
    ReceiveMemory::Wish wish(memory_, place, kMiB, kFrame, ReceiveMemory::Block());
    ASSERT_TRUE(wish.granted());
    ReceiveMemory::Block block = wish.take();
    park_until(100);  // others wait by now
    ReceiveMemory::Wish more(memory_, place, 8 * kMiB, kFrame, block);
    EXPECT_TRUE(more.granted());
  });
  spawn_wish("waits", 50, 8 * kMiB, 1);
  world_.run_on();
  EXPECT_EQ(granted_.back(), "waits@100");
}

TEST_F(ReceiveMemoryTest, ASmallFrameDoesNotWaitForLargeOnes) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "waits"}) {
    spawn_wish(name, 1, 8 * kMiB, 1000);
  }
  spawn_wish("small", 100, 48 * kKiB, 1, 48 * kKiB);
  world_.run_on();
  EXPECT_EQ(granted_[7], "small@100");
  EXPECT_EQ(granted_[8], "waits@1001");
}

TEST_F(ReceiveMemoryTest, NobodyIsCutWhileNobodyWaits) {
  spawn_holder("silent", 8 * kMiB, 0, 100, 60'000);
  spawn_wish("other", 10, 8 * kMiB, 1);
  world_.run_on();
  EXPECT_EQ(cut_, Names());
}

TEST_F(ReceiveMemoryTest, TheLongestSilentIsCutAndNoMoreThanIsNeeded) {
  for (const char* name : {"1", "2", "3", "4", "5", "6"}) {
    spawn_holder(name, 8 * kMiB, 0, 10'000, 10'000);
  }
  // Silent since 1500, since its peer moved until then.
  spawn_holder("moved", 8 * kMiB, 64 * kKiB, 500, 10'000);
  spawn_wish("honest", 3000, 8 * kMiB, 1);
  world_.run_on();
  EXPECT_EQ(granted_, Names{"honest@3000"});
  EXPECT_EQ(cut_, Names{"1@3000"});
}

TEST_F(ReceiveMemoryTest, SilenceIsAllowedForAWhile) {
  for (const char* name : {"1", "2", "3", "4", "5", "6", "7"}) {
    spawn_holder(name, 8 * kMiB, 0, 10'000, 10'000);
  }
  spawn_wish("honest", 300, 8 * kMiB, 1);
  world_.run_on();
  EXPECT_EQ(cut_, Names{"1@1000"});
  EXPECT_EQ(granted_, Names{"honest@1000"});
}

TEST_F(ReceiveMemoryTest, AByteNowAndThenIsNoMovement) {
  for (const char* name : {"1", "2", "3", "4", "5", "6"}) {
    spawn_holder(name, 8 * kMiB, 64 * kKiB, 900, 5'000);
  }
  spawn_holder("loris", 8 * kMiB, 1, 900, 60'000);
  spawn_wish("honest", 100, 8 * kMiB, 1);
  world_.run_on();
  EXPECT_EQ(cut_, Names{"loris@1000"});
}

TEST_F(ReceiveMemoryTest, WhoKeepsTheMinimumPaceIsNotCutAtFirst) {
  for (const char* name : {"1", "2", "3", "4", "5", "6", "7"}) {
    spawn_holder(name, 8 * kMiB, 4 * kKiB, 60, 900);  // 64 KiB in 960 ms
  }
  spawn_wish("honest", 0, 8 * kMiB, 1);
  world_.run_on();
  EXPECT_EQ(cut_, Names());
  EXPECT_EQ(granted_, Names{"honest@900"});
}

TEST_F(ReceiveMemoryTest, TheLongerSomebodyWaitsTheMoreIsAsked) {
  // Brings 64 KiB every 900, 200, 100 and 50 ms, which is enough for the first second, the second, the third,
  // and from then on.
  spawn_holder("900", 8 * kMiB, 64 * kKiB, 900, 10'000);
  spawn_holder("200", 8 * kMiB, 64 * kKiB, 200, 10'000);
  spawn_holder("100", 8 * kMiB, 64 * kKiB, 100, 10'000);
  for (const char* name : {"50", "50", "50", "50"}) {
    spawn_holder(name, 8 * kMiB, 64 * kKiB, 50, 10'000);
  }
  for (const char* name : {"x", "y", "z", "last"}) {
    spawn_wish(name, 1, 8 * kMiB, 20'000);
  }
  world_.run_on();
  ASSERT_EQ(cut_.size(), 3U);
  EXPECT_TRUE(cut_[0].starts_with("900@1")) << cut_[0];
  EXPECT_TRUE(cut_[1].starts_with("200@2")) << cut_[1];
  EXPECT_TRUE(cut_[2].starts_with("100@3")) << cut_[2];
  EXPECT_EQ(granted_.back(), "last@10000");
}

class TinyReceiveMemoryTest : public ReceiveMemoryTest {
 protected:
  TinyReceiveMemoryTest() : ReceiveMemoryTest(512 * kKiB) {}
};

TEST_F(TinyReceiveMemoryTest, OneFrameAtATimeIsFinishedBeyondTheBudget) {
  spawn_wish("a", 1, 8 * kMiB, 100);
  spawn_wish("b", 2, 8 * kMiB, 100);
  spawn_wish("c", 3, 128 * kKiB, 1);
  world_.run_on();
  EXPECT_EQ(granted_, (Names{"a@1", "b@101", "c@101"}));
}

}  // namespace
}  // namespace booblik::broker
