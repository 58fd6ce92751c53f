#include "sim/final_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "sim/answers.h"
#include "sim/raw_client.h"
#include "wire/request_encoder.h"

namespace booblik::sim {
namespace {

constexpr std::int64_t kPatienceSeconds = 60;
constexpr std::int32_t kMaxBytes = 1 << 20;

class FinalCheck {
 public:
  explicit FinalCheck(Workload& workload)
      : workload_(workload), client_(workload.world.outside_environment(), workload.port) {}

  std::string run_in_short() {
    std::string problem = connect();
    for (std::size_t partition = 0; partition < workload_.model.partitions() && problem.empty();
         ++partition) {
      problem = write(partition, wire::AckPolicy::forced);
      const std::int64_t start = workload_.model.known_start(partition);
      if (problem.empty() && workload_.model.known_since(partition, start)) {
        problem = fetch(partition, start);
      }
    }
    return problem;
  }

  std::string store(std::size_t partition) {
    std::string problem = connect();
    return problem.empty() ? write(partition, wire::AckPolicy::written) : problem;
  }

  std::string run() {
    if (std::string problem = connect(); !problem.empty()) {
      return problem;
    }
    for (std::size_t partition = 0; partition < workload_.model.partitions(); ++partition) {
      for (const auto acks : {wire::AckPolicy::written, wire::AckPolicy::forced}) {
        if (std::string problem = write(partition, acks); !problem.empty()) {
          return problem;
        }
      }
    }
    Question question = ask(Question::Kind::metadata, 0);
    std::vector<std::byte> bytes;
    wire::encode_metadata(bytes, question.correlation_id, {});
    if (std::string problem = exchange(question, bytes); !problem.empty()) {
      return problem;
    }
    for (std::size_t partition = 0; partition < workload_.model.partitions(); ++partition) {
      if (std::string problem = read(partition); !problem.empty()) {
        return problem;
      }
      workload_.model.check_whole(partition);
      workload_.model.check_order(partition);
    }
    return {};
  }

 private:
  std::string connect() {
    const auto connected = client_.connect(deadline());
    return connected ? std::string() : "the last client cannot connect: " + connected.error().message;
  }

  [[nodiscard]] Deadline deadline() const {
    return Deadline(workload_.now() + std::chrono::seconds(kPatienceSeconds));
  }

  Question ask(Question::Kind kind, std::size_t partition) {
    Question question = new_question(workload_, next_correlation_id_++, partition);
    question.kind = kind;
    return question;
  }

  // Nothing fails any more, so every partition takes records.
  std::string write(std::size_t partition, wire::AckPolicy acks) {
    Question question = ask(Question::Kind::produce, partition);
    question.acks = acks;
    question.records = 1;
    question.first = workload_.model.send_batch(partition, ++workload_.connections, {kPayloadBytesMin});
    std::vector<std::byte> payload(kPayloadBytesMin);
    Model::fill_payload(question.first, payload);
    const Bytes record(payload);
    std::vector<std::byte> bytes;
    wire::encode_produce(bytes, question.correlation_id, workload_.topic_of(partition),
                         workload_.id_of(partition), acks, std::span(&record, 1));
    return exchange(question, bytes);
  }

  std::string exchange(const Question& question, Bytes bytes) {
    if (const auto sent = client_.send(bytes, deadline()); !sent) {
      return "the last client cannot send: " + sent.error().message;
    }
    const auto frame = client_.receive_frame(deadline());
    if (!frame) {
      constexpr std::array kNames{"PRODUCE", "FETCH", "METADATA"};
      return fmt::format("the last client gets no answer ({} at offset {} of partition {}): {}",
                         kNames[static_cast<std::size_t>(question.kind)], question.offset, question.partition,
                         frame.error().message);
    }
    answer_ = check_answer(workload_, question, *frame);
    return {};
  }

  std::string fetch(std::size_t partition, std::int64_t offset) {
    Question question = ask(Question::Kind::fetch, partition);
    question.offset = offset;
    question.max_bytes = kMaxBytes;
    std::vector<std::byte> bytes;
    wire::encode_fetch(bytes, question.correlation_id, workload_.topic_of(partition),
                       workload_.id_of(partition), Offset(offset), kMaxBytes, std::chrono::milliseconds(0),
                       0);
    return exchange(question, bytes);
  }

  // Behind rot there may be thousands of records that are lost: one by one only at the beginning of a hole.
  std::int64_t step_over(std::size_t partition, std::int64_t offset) {
    Model& model = workload_.model;
    model.unreadable(partition, offset);
    steps_ = offset == stepped_to_ ? steps_ + 1 : 0;
    stepped_to_ = offset + 1;
    const std::int64_t end = std::min(offset + steps_, model.known_end(partition));
    while (stepped_to_ < end && model.may_have_rotted(partition, stepped_to_)) {
      ++stepped_to_;
    }
    return stepped_to_;
  }

  std::string read(std::size_t partition) {
    std::int64_t offset = workload_.model.known_start(partition);
    while (!workload_.model.violation()) {
      if (std::string problem = fetch(partition, offset); !problem.empty()) {
        // The broker closes a connection that asks for what it has lost.
        offset = step_over(partition, offset);
        client_.close();
        if (!client_.connect(deadline())) {
          return problem;
        }
        if (offset >= workload_.model.known_end(partition)) {
          return {};
        }
        continue;
      }
      if (answer_.out_of_range) {
        ++offset;  // retention has taken it meanwhile
        if (offset > workload_.model.known_end(partition)) {
          return fmt::format("partition {}: every offset is out of range", partition);
        }
        workload_.model.told_start(partition, offset);
        continue;
      }
      if (answer_.next_offset == answer_.end) {
        return {};
      }
      if (answer_.next_offset == offset) {
        offset = step_over(partition, offset);
        continue;
      }
      offset = answer_.next_offset;
    }
    return {};
  }

  Workload& workload_;
  RawClient client_;
  Answer answer_;
  std::int32_t next_correlation_id_ = 1;
  std::int64_t steps_ = 0;        // over unreadable offsets, one behind the other
  std::int64_t stepped_to_ = -1;  // by the last of them
};

}  // namespace

std::string check_everything(Workload& workload) {
  return FinalCheck(workload).run();
}

std::string check_serves(Workload& workload) {
  return FinalCheck(workload).run_in_short();
}

std::string check_stores(Workload& workload, std::size_t partition) {
  return FinalCheck(workload).store(partition);
}

}  // namespace booblik::sim
