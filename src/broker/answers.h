// The answers that one connection still owes, in the order of its requests. The reader adds at the back, the
// responder takes from the front when it has carried an answer out.
#pragma once

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

class Answers {
 public:
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  // Entries plus a share for what they hold beyond their own size, so that one number bounds both.
  [[nodiscard]] std::int64_t weight() const { return weight_; }

  [[nodiscard]] Answer& front() { return queue_.front(); }

  void push(Answer answer) {
    weight_ += weight_of(answer);
    queue_.push_back(std::move(answer));
  }

  void pop() {
    weight_ -= weight_of(queue_.front());
    queue_.pop_front();
  }

 private:
  static std::int64_t weight_of(const Answer& answer) {
    constexpr std::int64_t kTopicsPerUnit = 16;
    const auto* metadata = std::get_if<MetadataAnswer>(&answer);
    return metadata == nullptr ? 1 : 1 + static_cast<std::int64_t>(metadata->topics.size()) / kTopicsPerUnit;
  }

  std::deque<Answer> queue_;
  std::int64_t weight_ = 0;
};

}  // namespace booblik::broker
