// What the clients of a run were told, held outside of the simulated machine, and what must therefore be true
// of every later answer. A record's payload names the attempt that sent it, so a log can be compared with
// what was sent.
//
// Outcomes are three-valued: an attempt is acked (its offset is known), refused (it must never show up), or
// unknown (it may be there or not, at one place for ever).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "sim/disk_device.h"
#include "wire/protocol.h"

namespace booblik::sim {

using AttemptNumber = std::uint64_t;
inline constexpr std::int64_t kPayloadBytesMin = 8;  // the attempt's number

using CheckCounts = std::map<std::string, std::uint64_t, std::less<>>;

struct Attempt {
  std::size_t partition = 0;
  std::uint64_t connection = 0;
  std::uint32_t life = 0;  // of the broker that it was sent to
  std::int64_t payload_bytes = 0;
  std::int64_t index_in_batch = 0;
  bool refused = false;
  bool in_transit = false;  // it is not known yet over which connection it goes, and in which life
  Instant sent;
  std::int64_t offset = -1;  // once it is known, for ever
};

class Model {
 public:
  explicit Model(std::size_t partitions) : partitions_(partitions) {}
  // Asked when something is wrong with the record at `offset`: what the disk may have done to it.
  using AskRot = std::function<Rot(std::size_t partition, std::int64_t offset)>;
  void ask_about_rot(AskRot ask) { rot_ = std::move(ask); }

  // --- what is sent ---
  // The first number; the batch's records have consecutive ones.
  AttemptNumber send_batch(std::size_t partition, std::uint64_t connection,
                           const std::vector<std::int64_t>& payload_bytes);
  // One record that will go over a connection that is known only later.
  AttemptNumber send_later(std::size_t partition, std::int64_t payload_bytes);
  // It has gone, or would have, over a connection to the broker of `life`.
  void sent_over(AttemptNumber number, std::uint64_t connection, std::uint32_t life);
  void refuse(AttemptNumber first, std::int64_t records);
  // The payload of an attempt; `out` has its size.
  static void fill_payload(AttemptNumber number, MutableBytes out);
  [[nodiscard]] const Attempt& attempt(AttemptNumber number) const { return attempts_.at(number); }

  // --- what is answered ---
  void acked(AttemptNumber first, std::int64_t records, std::int64_t base, std::int64_t end, bool forced);
  // The same from a life that has ended: only what was FORCED must be there still.
  void acked_by_the_dead(AttemptNumber first, std::int64_t records, std::int64_t base, bool forced);
  // A record was fetched at `offset`. False: it is not a record that was ever sent.
  void fetched(std::size_t partition, std::int64_t offset, Bytes payload);
  // Bytes that should be a record are not (a wrong checksum).
  void damaged(std::size_t partition, std::int64_t offset);
  void told_end(std::size_t partition, std::int64_t end, std::int64_t end_at_send, const char* what);
  // The log has at least this end, by what a client may conclude.
  void must_reach(std::size_t partition, std::int64_t end) {
    partitions_[partition].end = std::max(partitions_[partition].end, end);
  }
  void told_start(std::size_t partition, std::int64_t start);
  // Nothing between the start that was told last and `start` was sent in this life and less than `age` ago.
  void check_taken(std::size_t partition, std::int64_t start, Duration age);

  // --- the broker's lives ---
  void life_begins() {
    ++life_;
    ++epoch_;
  }
  [[nodiscard]] std::uint32_t life() const { return life_; }
  // Changes with the beginning and the end of each life, and when a recovery ends a log early: an answer from
  // another epoch is old news.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  void life_ends() { ++epoch_; }
  // What a broker says right after recovery.
  void recovered(std::size_t partition, std::int64_t start, std::int64_t end);
  void power_lost();
  // The page cache lost something that was written (a failed sync): from now on a kill is as bad as the
  // power.
  void cache_is_lossy() {
    lossy_cache_ = true;
    holes_can_be_ = true;
  }
  void killed();
  // Everything that was accepted is durable.
  void stopped_in_good_order();

  // --- what is known ---
  void set_now(Instant now) { now_ = now; }
  // When somebody was first told of the record at `offset`; nullopt when nobody was.
  [[nodiscard]] std::optional<Instant> known_since(std::size_t partition, std::int64_t offset) const;
  // Nothing could be read at `offset`, though nothing fails any more.
  void unreadable(std::size_t partition, std::int64_t offset);
  [[nodiscard]] bool has_hole_from(std::size_t partition, std::int64_t offset) const {
    return partitions_[partition].last_hole >= offset;
  }
  [[nodiscard]] bool may_have_rotted(std::size_t partition, std::int64_t offset) const {
    return rot(partition, offset) != Rot::none;
  }
  // After everything was read: nothing is missing between the start and the end, and each connection's
  // records lie in the order in which they were sent.
  void check_whole(std::size_t partition);
  void check_order(std::size_t partition);  // order_check.cc
  [[nodiscard]] std::int64_t known_end(std::size_t partition) const { return partitions_[partition].end; }
  // How many recoveries have said where its log ends: rot may have moved that end back, in the middle of an
  // epoch.
  [[nodiscard]] std::size_t recoveries(std::size_t partition) const {
    return partitions_[partition].recovered_ends.size();
  }
  [[nodiscard]] std::int64_t known_start(std::size_t partition) const { return partitions_[partition].start; }
  [[nodiscard]] std::int64_t durable_end(std::size_t partition) const {
    return partitions_[partition].durable;
  }
  [[nodiscard]] std::size_t partitions() const { return partitions_.size(); }
  [[nodiscard]] std::uint64_t attempts() const { return attempts_.size(); }

  // Comparisons that really compared something, by oracle.
  [[nodiscard]] const CheckCounts& checks() const { return checks_; }
  // The first thing that must not be.
  [[nodiscard]] const std::optional<std::string>& violation() const { return violation_; }
  void violate(std::string text);
  void count(std::string_view check) {
    const auto found = checks_.find(check);
    ++(found == checks_.end() ? checks_.emplace(check, 0).first : found)->second;
  }

 private:
  static constexpr std::int64_t kUnknown = -1;
  enum class How { acked, fetched };

  struct Partition {
    std::int64_t start = 0;          // the log start that was told last
    std::int64_t end = 0;            // the highest end that somebody was told in this epoch
    std::int64_t durable = 0;        // the end can never be below it
    std::int64_t last_hole = -1;     // the highest offset that could not be read
    std::int64_t recovered_end = 0;  // of the life that recovered last
    std::uint32_t recovered_life = 0;
    std::vector<std::pair<std::uint32_t, std::int64_t>> recovered_ends;  // of each life that recovered
    std::uint32_t life_cut_by_rot = 0;  // the last whose recovery ended the log where rot may have been
    std::vector<std::int64_t> content;  // attempt by offset, or kUnknown
    std::vector<Instant> since;         // when it was learned
    // Records that survive everything. One that is not vouched for may be lost with the power although later
    // ones are there still: the log then has a hole for ever (docs/architecture.md, Recovery).
    std::vector<std::uint8_t> vouched;  // 0 or 1: bits would make the loop over them slow
    std::size_t all_vouched_below = 0;
  };

  [[nodiscard]] Rot rot(std::size_t partition, std::int64_t offset) const {
    return rot_ ? rot_(partition, offset) : Rot::none;
  }
  void learn(std::size_t partition, std::int64_t offset, AttemptNumber number, How how);
  [[nodiscard]] static std::int64_t known_at(const Partition& partition, std::int64_t offset) {
    return offset < static_cast<std::int64_t>(partition.content.size())
               ? partition.content[static_cast<std::size_t>(offset)]
               : kUnknown;
  }
  [[nodiscard]] std::string misplacement(std::size_t partition, std::int64_t offset,
                                         AttemptNumber number) const;
  void forget_from(Partition& partition, std::int64_t offset);
  [[nodiscard]] static std::int64_t lowest_end_since(const Partition& partition, std::uint32_t life);
  static void vouch_below(Partition& partition, std::int64_t offset);

  std::vector<Partition> partitions_;
  std::vector<Attempt> attempts_;
  std::uint32_t life_ = 0;
  std::uint64_t epoch_ = 0;
  Instant now_;
  bool lossy_cache_ = false;
  bool holes_can_be_ = false;
  AskRot rot_;
  CheckCounts checks_;
  std::optional<std::string> violation_;
};

}  // namespace booblik::sim
