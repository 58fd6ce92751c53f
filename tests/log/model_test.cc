// The partition log against a model: whatever is done in whatever order, across restarts, kills and power
// losses.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <ostream>

#include "env/random.h"
#include "log_world.h"

namespace booblik::log {
namespace {

enum class Kind {
  append,
  sync,
  keep_checkpoint,
  read,
  available,
  retain_bytes,
  retain_age,
  roll,
  advance,
  kill,
  stop,
  lose_power,
  lose_power_after_a_roll,
  lose_derived_files,
  reconfigure,
  fill_disk,
  count,
};

struct Step {
  Kind kind = Kind::append;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << static_cast<int>(step.kind) << "(" << step.a << "," << step.b << ")";
}

rc::Gen<Step> any_step() {
  // Appends and reads are most of what happens.
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, 30), rc::gen::arbitrary<std::uint32_t>(),
                                     rc::gen::arbitrary<std::uint32_t>()),
                      [](const std::tuple<int, std::uint32_t, std::uint32_t>& drawn) {
                        const int kind = std::get<0>(drawn);
                        const bool other = kind < static_cast<int>(Kind::count);
                        return Step{other           ? static_cast<Kind>(kind)
                                    : kind % 2 == 0 ? Kind::append
                                                    : Kind::read,
                                    std::get<1>(drawn), std::get<2>(drawn)};
                      });
}

class Model {
 public:
  Model() : world_({.segment_capacity_bytes = 200, .index_interval_bytes = 40}) { RC_ASSERT(world_.open()); }

  void run(const Step& step) {
    switch (step.kind) {
      case Kind::append:
        return append(step);
      case Kind::sync:
        return sync();
      case Kind::keep_checkpoint:
        world_.log->persist_index();
        world_.checkpoint = world_.log->checkpoint();
        return;
      case Kind::read:
        return read(step);
      case Kind::available:
        return available(step);
      case Kind::retain_bytes:
        return retain({.bytes = step.a % 1000, .age = {}});
      case Kind::retain_age:
        return retain({.bytes = {}, .age = std::chrono::seconds(step.a % 100)});
      case Kind::roll:
        RC_ASSERT(world_.log->roll_if_older(std::chrono::seconds(step.a % 10)));
        return sync();
      case Kind::advance:
        world_.clock.advance(std::chrono::seconds(step.a % 20));
        return;
      case Kind::kill:
        return reopen();
      case Kind::stop:
        world_.stop();
        durable_ = end();
        return reopen();
      case Kind::lose_power:
        return lose_power(step);
      case Kind::lose_power_after_a_roll:
        return lose_power_after_a_roll(step);
      case Kind::lose_derived_files:
        return lose_derived_files(step);
      case Kind::reconfigure:
        world_.kill();
        world_.options = {.segment_capacity_bytes = 60 + step.a % 400,
                          .index_interval_bytes = 1 + step.b % 100};
        return reopen();
      case Kind::fill_disk:
        return append_to_a_full_disk(step);
      case Kind::count:
        return;
    }
  }

  void check_everything() {
    RC_ASSERT(world_.log->end_offset() == Offset(end()));
    RC_ASSERT(!world_.log->recovery().damaged());
    RC_ASSERT(!world_.log->failure());
    const std::int64_t start = world_.log->start_offset().value();
    const std::vector<std::string> there = world_.read_all(start);
    RC_ASSERT(std::equal(there.begin(), there.end(), payloads_.begin() + start, payloads_.end()));
    RC_ASSERT(world_.log->size_bytes() == bytes_between(start, end()));
    world_.kill();
    RC_ASSERT(world_.disk.open_now == 0U);
  }

 private:
  [[nodiscard]] std::int64_t end() const { return static_cast<std::int64_t>(payloads_.size()); }

  [[nodiscard]] std::int64_t bytes_between(std::int64_t from, std::int64_t to) const {
    std::int64_t bytes = 0;
    for (std::int64_t offset = from; offset < to; ++offset) {
      bytes += static_cast<std::int64_t>(payloads_[static_cast<std::size_t>(offset)].size()) + 8;
    }
    return bytes;
  }

  std::vector<std::string> group(const Step& step) {
    std::vector<std::string> payloads;
    env::Random random(step.a);
    const std::uint64_t count = 1 + step.b % 8;
    const auto size_max = static_cast<std::uint64_t>(world_.options.segment_capacity_bytes - 8);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t size = random.one_in(4) ? 1 + random.below(size_max) : 1 + random.below(20);
      payloads.emplace_back(size, static_cast<char>('a' + (next_++ % 26)));
    }
    return payloads;
  }

  void append(const Step& step) {
    const std::size_t segments = world_.log->segment_count();
    append_only(step);
    // As the writer does: a barrier follows a roll at once, or the power could leave a gap.
    if (world_.log->segment_count() > segments) {
      sync();
    }
  }

  void append_only(const Step& step) {
    const auto payloads = group(step);
    RC_ASSERT(world_.append(payloads));
    payloads_.insert(payloads_.end(), payloads.begin(), payloads.end());
    RC_ASSERT(world_.log->end_offset() == Offset(end()));
  }

  void append_to_a_full_disk(const Step& step) {
    std::int64_t number = 0;
    const std::int64_t failing = step.a % 3;
    world_.disk.intercept = [&](MemoryDisk::Operation operation, const std::string&) {
      const bool needs_space =
          operation == MemoryDisk::Operation::write || operation == MemoryDisk::Operation::create;
      return needs_space && number++ == failing ? MemoryDisk::Verdict{ErrorCode::no_space, step.a % 50}
                                                : MemoryDisk::Verdict{};
    };
    const auto payloads = group(step);
    const bool appended = world_.append(payloads).has_value();
    world_.disk.intercept = nullptr;
    if (appended) {
      payloads_.insert(payloads_.end(), payloads.begin(), payloads.end());
      sync();
    }
    RC_ASSERT(world_.log->end_offset() == Offset(end()));
  }

  void sync() {
    const auto durable = world_.log->sync();
    RC_ASSERT(durable);
    RC_ASSERT(*durable == Offset(end()));
    RC_ASSERT(world_.log->unsynced_bytes() == 0);
    durable_ = end();
  }

  void read(const Step& step) {
    const std::int64_t start = world_.log->start_offset().value();
    const std::int64_t offset = start - 1 + step.a % (end() - start + 3);
    const std::int64_t max_bytes = 1 + step.b % 500;
    const auto slice = world_.log->read(Offset(offset), max_bytes);
    if (offset < start || offset > end()) {
      RC_ASSERT(!slice);
      RC_ASSERT(slice.error().code == ErrorCode::offset_out_of_range);
      return;
    }
    RC_ASSERT(slice);
    RC_ASSERT(slice->high_watermark == Offset(end()));
    RC_ASSERT((slice->bytes > 0) == (offset < end()));
    RC_ASSERT(slice->bytes <= max_bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(slice->bytes));
    if (slice->bytes > 0) {
      RC_ASSERT(slice->file->read_at(bytes, slice->position).value_or(0) == bytes.size());
    }
    const auto expected = encode(std::vector<std::string>(payloads_.begin() + offset, payloads_.end()));
    RC_ASSERT(bytes.size() <= expected.size());
    RC_ASSERT(std::equal(bytes.begin(), bytes.end(), expected.begin()));
    if (slice->bytes > 0 && slice->bytes < max_bytes) {
      check_ends_a_segment(offset, slice->bytes);
    }
  }

  // What is shorter than asked for ends with the log or where a segment begins.
  void check_ends_a_segment(std::int64_t offset, std::int64_t bytes) {
    while (bytes > 0) {
      bytes -= static_cast<std::int64_t>(payloads_[static_cast<std::size_t>(offset++)].size()) + 8;
    }
    RC_ASSERT(bytes == 0);
    RC_ASSERT(offset == end() || world_.disk.exists(LogWorld::path(offset)));
  }

  void available(const Step& step) {
    const std::int64_t start = world_.log->start_offset().value();
    const std::int64_t offset = start + step.a % (end() - start + 1);
    const auto available = world_.log->available(Offset(offset));
    const auto slice = world_.log->read(Offset(offset), 1 << 20);
    RC_ASSERT(available);
    RC_ASSERT(slice);
    RC_ASSERT(available->bytes_now == slice->bytes);
    RC_ASSERT(available->bytes_ever >= std::max<std::int64_t>(available->bytes_now, 1));
  }

  void retain(const RetentionLimits& limits) {
    const Offset start = world_.log->start_offset();
    const auto segments = static_cast<std::int64_t>(world_.log->segment_count());
    const std::int64_t size = world_.log->size_bytes();
    const auto removed = world_.log->apply_retention(limits);
    RC_ASSERT(removed);
    RC_ASSERT(static_cast<std::int64_t>(world_.log->segment_count()) == segments - *removed);
    RC_ASSERT(world_.log->start_offset() >= start);
    RC_ASSERT(world_.log->start_offset() <= Offset(durable_));
    RC_ASSERT(world_.log->size_bytes() >= std::min(size, limits.bytes.value_or(0)));
    RC_ASSERT(world_.log->size_bytes() == bytes_between(world_.log->start_offset().value(), end()));
  }

  void reopen() {
    const auto opened = world_.open();
    RC_ASSERT(opened);
    RC_ASSERT(world_.log->end_offset() == Offset(end()));
    RC_ASSERT(!world_.log->recovery().damaged());
    durable_ = end();
  }

  void lose_power(const Step& step) {
    world_.kill();
    env::Random random(step.a);
    const std::uint64_t rarity = 1 + step.b % 4;
    world_.disk.lose_power([&] { return random.one_in(rarity); });
    RC_ASSERT(world_.open());
    const std::int64_t found = world_.log->end_offset().value();
    RC_ASSERT(found >= durable_);
    RC_ASSERT(found <= end());
    payloads_.resize(static_cast<std::size_t>(found));
    durable_ = found;
    const std::int64_t start = world_.log->start_offset().value();
    const auto there = world_.read_all(start);
    RC_ASSERT(std::equal(there.begin(), there.end(), payloads_.begin() + start, payloads_.end()));
  }

  // Before the barrier of a roll: what was durable is there, of the rest each record is right or reported as
  // damage. Then a new log begins.
  void lose_power_after_a_roll(const Step& step) {
    append_only(step);
    world_.kill();
    env::Random random(step.a);
    world_.disk.lose_power([&] { return random.one_in(2); });
    RC_ASSERT(world_.open());
    RC_ASSERT(world_.log->end_offset() >= Offset(durable_));
    RC_ASSERT(world_.log->end_offset() <= Offset(end()));
    for (std::int64_t offset = world_.log->start_offset().value(); offset < world_.log->end_offset().value();
         ++offset) {
      const auto payload = world_.read(offset);
      if (payload) {
        RC_ASSERT(*payload == payloads_[static_cast<std::size_t>(offset)]);
      } else {
        RC_ASSERT(offset >= durable_);
        RC_ASSERT(payload.error().code == ErrorCode::damaged);
        RC_ASSERT(world_.log->recovery().damaged());
      }
    }
    RC_ASSERT(world_.append({"goes on"}));
    world_.kill();
    world_.disk.restore({});
    world_.checkpoint.reset();
    payloads_.clear();
    reopen();
  }

  void lose_derived_files(const Step& step) {
    world_.stop();
    if (step.a % 2 == 0) {
      world_.checkpoint.reset();
    }
    env::Random random(step.b);
    for (const auto& [path, content] : world_.disk.snapshot()) {
      if (path.ends_with(".booblik-index") && random.one_in(2)) {
        RC_ASSERT(world_.disk.remove(path));
      }
    }
    reopen();
  }

  LogWorld world_;
  std::vector<std::string> payloads_;
  std::int64_t durable_ = 0;
  int next_ = 0;
};

RC_GTEST_PROP(PartitionLogModel, AgreesWithTheLog, ()) {
  const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
  Model model;
  for (const Step& step : steps) {
    model.run(step);
  }
  model.check_everything();
}

}  // namespace
}  // namespace booblik::log
