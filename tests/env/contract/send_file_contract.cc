#include <string>
#include <vector>

#include "contract/contract.h"
#include "contract/streams.h"
#include "env/sync.h"

namespace booblik::env {
namespace {

using std::chrono::milliseconds;

TEST_P(NetworkContract, SendFileSendsExactlyTheRange) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    const auto bytes = pattern(3 * 1024 * 1024 + 4321);
    auto file = env.disk.open(path("segment"), OpenMode::create_new);
    ASSERT_TRUE(file);
    const Bytes whole(bytes);
    ASSERT_TRUE((*file)->write_at(std::span(&whole, 1), Position(0)));
    struct Range {
      std::int64_t from;
      std::int64_t length;
    };
    for (const Range range : {Range{0, 1}, Range{4095, 2}, Range{65'535, 131'073}, Range{7, 3 * 1024 * 1024},
                              Range{3 * 1024 * 1024, 4321}}) {
      WaitGroup group(env.scheduler);
      group.add();
      env.scheduler.spawn("sender", [&] {
        for (std::int64_t done = 0; done < range.length;) {
          const auto sent =
              pair.server->send_file(**file, Position(range.from + done), range.length - done, soon(env));
          ASSERT_TRUE(sent) << sent.error().message;
          ASSERT_GT(*sent, 0);
          ASSERT_LE(*sent, range.length - done);
          done += *sent;
        }
        group.done();
      });
      expect_pattern(
          env, *pair.client,
          whole.subspan(static_cast<std::size_t>(range.from), static_cast<std::size_t>(range.length)));
      EXPECT_TRUE(group.wait(soon(env)));
    }
    // Nothing more than the ranges has gone.
    pair.server->shutdown_send();
    EXPECT_EQ(receive_text(env, *pair.client, 1), "");
  });
}

TEST_P(NetworkContract, SendFileTimesOutAgainstAStalledReader) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    auto file = env.disk.open(path("segment"), OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(1024 * 1024));
    const std::vector<std::byte> block(64 * 1024);
    send_until_stuck(env, *pair.server, block);
    EXPECT_EQ((*file)->size(), 1024 * 1024);
    EXPECT_EQ(pair.server->send_file(**file, Position(0), 1024, after(env, milliseconds(5))).error().code,
              ErrorCode::timed_out);
  });
}

TEST_P(NetworkContract, SendFileBeyondTheEndIsAnError) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    auto file = env.disk.open(path("short"), OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(100));
    EXPECT_EQ(pair.server->send_file(**file, Position(100), 50, soon(env)).error().code, ErrorCode::io);
    EXPECT_EQ(pair.server->send_file(**file, Position(4'000'000), 2'000'000, soon(env)).error().code,
              ErrorCode::io);
  });
}

TEST_P(NetworkContract, ARemovedFileCanStillBeSent) {
  run([this](Environment& env) {
    const Pair pair = connect_pair(env, world_->host());
    auto file = env.disk.open(path("gone"), OpenMode::create_new);
    ASSERT_TRUE(file);
    const Bytes part = as_bytes("still sent");
    ASSERT_TRUE((*file)->write_at(std::span(&part, 1), Position(0)));
    ASSERT_TRUE(env.disk.remove(path("gone")));
    ASSERT_EQ(pair.server->send_file(**file, Position(0), 10, soon(env)), 10);
    EXPECT_EQ(receive_text(env, *pair.client, 10), "still sent");
  });
}

}  // namespace
}  // namespace booblik::env
