#include "sim/final_check.h"

#include <fmt/format.h>

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

  std::string run() {
    if (const auto connected = client_.connect(deadline()); !connected) {
      return "the last reader cannot connect: " + connected.error().message;
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
  [[nodiscard]] Deadline deadline() const {
    return Deadline(workload_.now() + std::chrono::seconds(kPatienceSeconds));
  }

  Question ask(Question::Kind kind, std::size_t partition) {
    Question question;
    question.kind = kind;
    question.partition = partition;
    question.correlation_id = next_correlation_id_++;
    question.epoch = workload_.model.epoch();
    question.in_turn = workload_.now();
    for (std::size_t each = 0; each < workload_.model.partitions(); ++each) {
      question.ends.push_back(workload_.model.known_end(each));
      question.starts.push_back(workload_.model.known_start(each));
    }
    return question;
  }

  std::string exchange(const Question& question, Bytes bytes) {
    if (const auto sent = client_.send(bytes, deadline()); !sent) {
      return "the last reader cannot send: " + sent.error().message;
    }
    const auto frame = client_.receive_frame(deadline());
    if (!frame) {
      return fmt::format("the last reader gets no answer ({} at offset {} of partition {}): {}",
                         question.kind == Question::Kind::fetch ? "FETCH" : "METADATA", question.offset,
                         question.partition, frame.error().message);
    }
    answer_ = check_answer(workload_, question, *frame);
    return {};
  }

  std::string read(std::size_t partition) {
    std::int64_t offset = workload_.model.known_start(partition);
    while (!workload_.model.violation()) {
      Question question = ask(Question::Kind::fetch, partition);
      question.offset = offset;
      question.max_bytes = kMaxBytes;
      std::vector<std::byte> bytes;
      wire::encode_fetch(bytes, question.correlation_id, workload_.topic_of(partition),
                         workload_.id_of(partition), Offset(offset), kMaxBytes, std::chrono::milliseconds(0),
                         0);
      if (std::string problem = exchange(question, bytes); !problem.empty()) {
        // The broker closes a connection that asks for what it has lost.
        workload_.model.unreadable(partition, offset);
        ++offset;
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
        workload_.model.unreadable(partition, offset++);
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
};

}  // namespace

std::string check_everything(Workload& workload) {
  return FinalCheck(workload).run();
}

}  // namespace booblik::sim
