// Recovery of directories that were damaged at random: right bytes or an error, never a crash, and the same
// result twice.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <ostream>

#include "env/random.h"
#include "log_world.h"

namespace booblik::log {
namespace {

struct Damage {
  int kind = 0;
  std::uint32_t file = 0;
  std::uint32_t at = 0;
  std::uint32_t amount = 0;
};

std::ostream& operator<<(std::ostream& out, const Damage& damage) {
  return out << "{kind " << damage.kind << ", file " << damage.file << ", at " << damage.at << ", amount "
             << damage.amount << "}";
}

rc::Gen<Damage> any_damage() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 7), rc::gen::arbitrary<std::uint32_t>(),
                     rc::gen::arbitrary<std::uint32_t>(), rc::gen::arbitrary<std::uint32_t>()),
      [](const std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t>& drawn) {
        return Damage{std::get<0>(drawn), std::get<1>(drawn), std::get<2>(drawn), std::get<3>(drawn)};
      });
}

void inflict(MemoryDisk& disk, const Damage& damage) {
  const auto files = disk.snapshot();
  if (files.empty()) {
    return;
  }
  const std::string path =
      std::next(files.begin(), static_cast<std::ptrdiff_t>(damage.file % files.size()))->first;
  MemoryDisk::Content& content = disk.content(path);
  const std::size_t at = content.empty() ? 0 : damage.at % content.size();
  switch (damage.kind) {
    case 0:
    case 1:
      if (!content.empty()) {
        content[at] ^= static_cast<std::byte>(1U << (damage.amount % 8));
      }
      return;
    case 2:
      content.resize(at);
      return;
    case 3:
      content.resize(content.size() + damage.amount % 2000);
      return;
    case 4:
      std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(at),
                  std::min<std::size_t>(damage.amount % 100, content.size() - at), std::byte{0});
      return;
    case 5:
      (void)disk.remove(path);
      return;
    default:
      content.insert(content.end(), damage.amount % 40, std::byte{0xA5});
  }
}

// Sizes that one flipped bit turns into the distance to the record after the next, among others.
std::vector<std::string> payloads_of(std::uint32_t seed, std::size_t count) {
  env::Random random(seed);
  std::vector<std::string> payloads;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = random.one_in(2) ? 56 : 1 + random.below(100);
    payloads.emplace_back(size, static_cast<char>('a' + i % 26));
    payloads.back() += std::to_string(i);
    payloads.back().resize(size, '.');
  }
  return payloads;
}

std::vector<Result<std::string>> answers(LogWorld& world) {
  std::vector<Result<std::string>> all;
  for (Offset offset = world.log->start_offset(); offset < world.log->end_offset(); offset += 1) {
    all.push_back(world.read(offset.value()));
  }
  return all;
}

// Every record that is served is the one of its offset.
void check_answers(LogWorld& world, const std::vector<std::string>& payloads) {
  std::int64_t offset = world.log->start_offset().value();
  for (const auto& answer : answers(world)) {
    if (answer) {
      RC_ASSERT(static_cast<std::size_t>(offset) < payloads.size());
      RC_ASSERT(*answer == payloads[static_cast<std::size_t>(offset)]);
    } else {
      RC_ASSERT(answer.error().code == ErrorCode::damaged);
      // A payload that rotted is noticed by whoever reads it, everything else by the log.
      RC_ASSERT(world.log->recovery().damaged() || world.log->read(Offset(offset), 1));
    }
    ++offset;
  }
}

MemoryDisk::Content records_of(const MemoryDisk& disk) {
  MemoryDisk::Content all;
  for (const auto& [path, content] : disk.snapshot()) {
    if (path.ends_with(".log")) {
      all.insert(all.end(), path.begin() == path.end() ? 0U : 1U, std::byte{'|'});
      all.insert(all.end(), content.begin(), content.end());
    }
  }
  return all;
}

RC_GTEST_PROP(Damage, LeavesRightBytesOrAnError,
              (bool with_checkpoint, bool with_indexes, bool while_open, bool crash_before_checkpoint)) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const auto interval = *rc::gen::element(1, 100, 1000);
  const auto damages = *rc::gen::container<std::vector<Damage>>(any_damage());
  LogWorld world({.segment_capacity_bytes = 500, .index_interval_bytes = interval});
  RC_ASSERT(world.open());
  auto payloads = payloads_of(seed, 1 + seed % 60);
  RC_ASSERT(world.append(payloads));
  world.stop();
  if (!with_checkpoint) {
    world.checkpoint.reset();
  }
  if (!with_indexes) {
    for (const auto& [path, content] : world.disk.snapshot()) {
      if (path.ends_with(".booblik-index")) {
        RC_ASSERT(world.disk.remove(path));
      }
    }
  }
  if (while_open) {
    RC_ASSERT(world.open());
  }
  const auto durable = world.checkpoint ? world.checkpoint->offset : Offset();
  for (const Damage& damage : damages) {
    inflict(world.disk, damage);
  }
  if (while_open) {
    // Files that were shortened or removed under it are read errors.
    for (Offset offset = world.log->start_offset(); offset < world.log->end_offset(); offset += 1) {
      const auto answer = world.read(offset.value());
      RC_ASSERT(!answer || *answer == payloads[static_cast<std::size_t>(offset.value())]);
    }
  }
  const auto checkpoint_before = world.checkpoint;
  RC_ASSERT(world.open());
  RC_ASSERT(world.log->end_offset() >= durable);
  check_answers(world, payloads);

  // Twice is the same as once.
  const auto once = records_of(world.disk);
  const auto answers_once = answers(world);
  world.kill();
  if (crash_before_checkpoint) {
    world.checkpoint = checkpoint_before;
  }
  RC_ASSERT(world.open());
  RC_ASSERT((records_of(world.disk) == once));
  RC_ASSERT(!world.outcomes().contains(Outcome::wrong_index));
  check_answers(world, payloads);
  const auto answers_twice = answers(world);
  RC_ASSERT(answers_twice.size() == answers_once.size());
  for (std::size_t i = 0; i < answers_once.size(); ++i) {
    RC_ASSERT(answers_once[i].has_value() == answers_twice[i].has_value());
  }

  // And it goes on.
  const std::int64_t end = world.log->end_offset().value();
  RC_ASSERT(world.append({"after the damage"}));
  RC_ASSERT(world.read(end).value_or("") == std::string("after the damage"));
  world.stop();
  RC_ASSERT(world.open());
  RC_ASSERT(world.read(end).value_or("") == std::string("after the damage"));
}

}  // namespace
}  // namespace booblik::log
