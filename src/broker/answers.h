// The answers that one connection still owes, in the order of its requests. The reader adds at the back, the
// responder takes from the front when it has carried an answer out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "broker/topics.h"
#include "log/partition_writer.h"
#include "wire/protocol.h"
#include "wire/request.h"

namespace booblik::broker {

struct ErrorAnswer {
  std::int32_t correlation_id = 0;
  wire::WireError error = wire::WireError::none;
};

struct ProduceAnswer {
  std::int32_t correlation_id = 0;
  bool silent = false;  // ackPolicy NONE: waited for, since later requests must see it, but never answered
  const Partition* partition = nullptr;
  log::AppendTicket ticket;
};

struct FetchAnswer {
  std::int32_t correlation_id = 0;
  const Partition* partition = nullptr;
  wire::FetchRequest request;  // its views are no longer valid
};

struct MetadataAnswer {
  std::int32_t correlation_id = 0;
  bool all_topics = false;
  std::vector<const Topic*> topics;  // in the order of the answer, unless all
};

using Answer = std::variant<ErrorAnswer, ProduceAnswer, FetchAnswer, MetadataAnswer>;

// What all connections together owe. A connection may always owe kAlways answers; more than that only while
// the sum is below its bound, so that thousands of full pipelines do not use the memory up.
class AnswerBudget {
 public:
  static constexpr std::int64_t kAlways = 16;

  AnswerBudget(std::int64_t bytes_max, std::int64_t connection_max)
      : weight_max_(bytes_max / static_cast<std::int64_t>(sizeof(Answer))), connection_max_(connection_max) {}

  [[nodiscard]] std::int64_t connection_max() const {
    return weight_ < weight_max_ ? connection_max_ : std::min(connection_max_, kAlways);
  }
  [[nodiscard]] std::int64_t weight() const { return weight_; }
  void add(std::int64_t weight) { weight_ += weight; }

 private:
  const std::int64_t weight_max_;
  const std::int64_t connection_max_;
  std::int64_t weight_ = 0;
};

class Answers {
 public:
  explicit Answers(AnswerBudget& budget) : budget_(budget) {}
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  ~Answers() { budget_.add(-weight_); }

  [[nodiscard]] bool empty() const { return queue_.empty(); }
  // No more is to be added now. May change by what other connections do.
  [[nodiscard]] bool full() const { return weight_ >= budget_.connection_max(); }

  [[nodiscard]] Answer& front() { return queue_.front(); }

  void push(Answer answer) {
    add(weight_of(answer));
    queue_.push_back(std::move(answer));
  }

  void pop() {
    add(-weight_of(queue_.front()));
    queue_.pop_front();
  }

 private:
  // Entries plus a share for what they hold beyond their own size, so that one number bounds both.
  static std::int64_t weight_of(const Answer& answer) {
    constexpr std::int64_t kTopicsPerUnit = 16;
    const auto* metadata = std::get_if<MetadataAnswer>(&answer);
    return metadata == nullptr ? 1 : 1 + static_cast<std::int64_t>(metadata->topics.size()) / kTopicsPerUnit;
  }

  void add(std::int64_t weight) {
    weight_ += weight;
    budget_.add(weight);
  }

  AnswerBudget& budget_;
  std::deque<Answer> queue_;
  std::int64_t weight_ = 0;
};

}  // namespace booblik::broker
