#include "sim/quiet_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "env/sync.h"
#include "sim/answers.h"
#include "sim/offence.h"
#include "sim/raw_client.h"
#include "sim/rot_oracle.h"
#include "wire/request_encoder.h"

namespace booblik::sim {
namespace {

constexpr int kRounds = 6;
// Far more than a faultless network and disk need, far less than any interval of the broker's that could make
// good what was lost.
constexpr Duration kAtOnce = std::chrono::milliseconds(100);
constexpr Duration kGivesUp = std::chrono::seconds(10);
constexpr std::int64_t kLongWaitMillis = 5'000;
constexpr std::int64_t kShortWaitMillisMax = 300;
// An append comes up to so long after the FETCH was sent: while it is under way, looked at, or held.
constexpr std::int64_t kAppendDelayMicrosMax = 800;
constexpr std::int64_t kReadDelayMicrosMax = 1'000;
constexpr std::int64_t kInFrontMax = 6;
constexpr std::int64_t kFillsPipelines = 20;
// What a broker may take for a frame, if the time is to be waited for.
constexpr std::int64_t kShortFrameMillisMax = 4'095;
// A roll by age is due at most so long after its time: Plan::broker says how often the broker looks.
constexpr std::int64_t kRollsWithinMillis = 1'500;
// A pipeline of so many holds a FETCH and what comes behind it.
constexpr std::int64_t kPipelineOfTwo = 3;
constexpr std::int32_t kMaxBytes = 1 << 16;

std::int64_t millis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

class QuietCheck {
 public:
  QuietCheck(Workload& workload, std::uint64_t seed)
      : workload_(workload),
        environment_(workload.world.outside_environment()),
        random_(random_stream(seed, fmt::format("quiet check of life {}", workload.model.life()))),
        reader_(environment_, workload.port),
        writer_(environment_, workload.port) {}

  std::string run() {
    // Answers that do not fit the peer's buffer keep the one who sends them waiting.
    NetworkOptions network;
    network.buffer_bytes = between(random_, 128, 2'048);
    workload_.world.fabric().set_options(network);
    if (!connect(reader_) || !connect(writer_)) {
      return problem_;
    }
    for (int round = 0; round < kRounds && !is_over(); ++round) {
      partition_ = static_cast<std::size_t>(random_.below(workload_.model.partitions()));
      record_bytes_ =
          between(random_, workload_.plan.payload_bytes_min(), workload_.plan.payload_bytes_max());
      switch (random_.below(3)) {
        case 0:
          time_out();
          break;
        case 1:
          wake_oneself();
          break;
        default:
          wake_another();
          break;
      }
    }
    if (workload_.plan.frame_timeout_millis <= kShortFrameMillisMax && !is_over() && random_.one_in(2)) {
      stop_in_a_frame();
    }
    if (!is_over() && random_.one_in(2)) {
      finish_sending();
    }
    workload_.world.fabric().set_options(NetworkOptions{});
    return problem_;
  }

  void hold_over_a_roll() {
    for (RawClient* client : {&reader_, &writer_}) {
      if (!client->connect(deadline())) {
        return workload_.model.violate("nothing else happens, and a client cannot connect");
      }
    }
    partition_ = static_cast<std::size_t>(random_.below(workload_.model.partitions()));
    record_bytes_ = workload_.plan.payload_bytes_min();
    Burst append;
    add_produce(append);
    exchange(writer_, append);
    if (is_over()) {
      return;
    }
    Burst burst;
    const std::int64_t end = append.taken.back().answer.end;
    const std::int64_t more = between(random_, record_bytes_ + wire::kRecordHeaderBytes + 1, kMaxBytes);
    const std::int64_t wait_millis = workload_.plan.retention_millis + kRollsWithinMillis;
    add_fetch(burst, end - 1, wait_millis, static_cast<std::int32_t>(more));
    exchange(reader_, burst, std::chrono::milliseconds(wait_millis));
    if (!is_over()) {
      check_rolled(burst.questions.back(), burst.taken.back(), end);
    }
  }

 private:
  enum class Then { go_on, finish };  // sending, when all is sent

  struct Taken {
    Answer answer;
    Instant in_turn;
    Instant at;
  };

  // Questions and their frames, to be sent in one go.
  struct Burst {
    std::vector<Question> questions;
    std::vector<std::byte> bytes;
    std::vector<Taken> taken;
    Instant sent;
  };

  [[nodiscard]] bool is_over() const { return workload_.model.violation() || !problem_.empty(); }
  [[nodiscard]] Deadline deadline() const { return Deadline(workload_.now() + kGivesUp); }

  void sleep(std::int64_t micros_max) {
    workload_.world.scheduler().sleep(Duration(between(random_, 0, micros_max * 1'000)), "quiet");
  }

  void time_out() {
    Burst burst;
    add_answered_at_once(burst, kInFrontMax);
    const std::int64_t wait_millis = between(random_, 1, kShortWaitMillisMax);
    const Duration wait = std::chrono::milliseconds(wait_millis);
    add_fetch(burst, wait_millis);
    exchange(reader_, burst);
    if (is_over()) {
      return;
    }
    const Taken& fetched = burst.taken.back();
    workload_.model.count("held fetch timed out");
    if (fetched.answer.payload_bytes > 0) {
      violate(burst.questions.back(), "got bytes that nobody has written");
    }
    if (fetched.at - burst.sent < wait || fetched.at - fetched.in_turn > wait + kAtOnce) {
      violate(burst.questions.back(), fmt::format("was held for {} ms", millis(fetched.at - burst.sent)));
    }
  }

  void wake_another() {
    Burst append;
    env::WaitGroup writing(environment_.scheduler);
    writing.add();
    workload_.world.spawn("quiet writer", [&] {
      sleep(kAppendDelayMicrosMax);
      add_answered_at_once(append, kInFrontMax);
      add_produce(append);
      exchange(writer_, append);
      writing.done();
    });
    Burst burst;
    add_answered_at_once(burst, kInFrontMax);
    add_fetch(burst, kLongWaitMillis);
    exchange(reader_, burst);
    static_cast<void>(writing.wait(Deadline::never()));
    if (!is_over()) {
      check_ack(append.taken.back());
      check_woken(burst.questions.back(), burst.taken.back(), append.taken.back().at);
    }
  }

  // The append comes behind the FETCH, over the same connection. Requests that were answered make room for
  // both in the pipeline.
  void wake_oneself() {
    if (workload_.plan.pipelined_max < kPipelineOfTwo) {
      return;
    }
    Burst burst;
    add_answered_at_once(burst, kFillsPipelines);
    add_fetch(burst, kLongWaitMillis);
    add_produce(burst);
    exchange(reader_, burst);
    if (!is_over()) {
      const Taken& fetched = burst.taken[burst.taken.size() - 2];
      check_ack(burst.taken.back());
      check_woken(burst.questions[burst.questions.size() - 2], fetched, fetched.in_turn);
    }
  }

  void check_woken(const Question& fetch, const Taken& fetched, Instant appended) {
    workload_.model.count("held fetch woken");
    const Duration late = fetched.at - std::max(appended, fetched.in_turn);
    if (fetched.answer.payload_bytes == 0) {
      violate(fetch, "came back empty");
    } else if (late > kAtOnce) {
      violate(fetch, fmt::format("was answered {} ms after the only append", millis(late)));
    }
  }

  // The next segment has the name that the roll gave it.
  void check_rolled(const Question& fetch, const Taken& fetched, std::int64_t end) {
    const auto rolled = workload_.machine.disk.created_at(segment_path(workload_, fetch.partition, end));
    if (!rolled || *rolled < fetch.in_turn) {
      return;
    }
    workload_.model.count("held fetch woken by a roll");
    if (fetched.at - *rolled > kAtOnce) {
      violate(fetch, fmt::format("was answered {} ms after its segment was sealed by age",
                                 millis(fetched.at - *rolled)));
    }
  }

  void stop_in_a_frame() {
    RawClient offender(environment_, workload_.port);
    if (!connect(offender)) {
      return;
    }
    Burst burst;
    add_answered_at_once(burst, kInFrontMax);
    add_offence(Offence::slow_frame, workload_, random_, burst.bytes);
    exchange(offender, burst);
    if (is_over()) {
      return;
    }
    const Duration timeout = std::chrono::milliseconds(workload_.plan.frame_timeout_millis);
    const auto frame = offender.receive_frame(Deadline(burst.sent + timeout + std::chrono::seconds(1)));
    const Duration took = workload_.now() - burst.sent;
    workload_.model.count("quiet offender cut");
    if (frame || took < timeout || took > timeout + kAtOnce) {
      workload_.model.violate(fmt::format(
          "nothing else happens, and a peer that stopped in a frame and has {} ms for it was {} after {} ms",
          millis(timeout), frame ? "answered" : "cut", millis(took)));
    }
  }

  // Whoever has no more to ask still gets every answer, also to a FETCH that is held just then.
  void finish_sending() {
    RawClient peer(environment_, workload_.port);
    if (!connect(peer)) {
      return;
    }
    Burst burst;
    add_answered_at_once(burst, kInFrontMax);
    constexpr std::int64_t kWaitMillis = 20;
    add_fetch(burst, kWaitMillis);
    exchange(peer, burst, std::chrono::milliseconds(kWaitMillis), Then::finish);
    workload_.model.count("half-closed peer answered");
  }

  void check_ack(const Taken& acked) {
    workload_.model.count("quiet ack");
    if (acked.at - acked.in_turn > kAtOnce) {
      workload_.model.violate(
          fmt::format("partition {}: nothing else happens, and a PRODUCE was acked {} ms "
                      "after its turn had come",
                      partition_, millis(acked.at - acked.in_turn)));
    }
  }

  void violate(const Question& fetch, std::string_view what) {
    workload_.model.violate(
        fmt::format("partition {}: nothing else happens, and a FETCH at {} that may wait "
                    "{} ms {}",
                    fetch.partition, fetch.offset, fetch.wait_millis, what));
  }

  // Their answers are there when the request behind them begins to wait.
  void add_answered_at_once(Burst& burst, std::int64_t most) {
    for (std::int64_t left = between(random_, 0, most); left > 0; --left) {
      burst.questions.push_back(new_question(workload_, next_correlation_id_++, partition_));
      wire::encode_metadata(burst.bytes, burst.questions.back().correlation_id, {});
    }
  }

  void add_fetch(Burst& burst, std::int64_t wait_millis) {
    const std::int64_t bytes = between(random_, 0, record_bytes_ + wire::kRecordHeaderBytes);
    const std::int64_t min_bytes = random_.one_in(2) ? 0 : bytes;
    add_fetch(burst, workload_.model.known_end(partition_), wait_millis,
              static_cast<std::int32_t>(min_bytes));
  }

  void add_fetch(Burst& burst, std::int64_t offset, std::int64_t wait_millis, std::int32_t min_bytes) {
    Question question = new_question(workload_, next_correlation_id_++, partition_);
    question.kind = Question::Kind::fetch;
    question.offset = offset;
    question.max_bytes = kMaxBytes;
    question.wait_millis = wait_millis;
    question.min_bytes = min_bytes;
    wire::encode_fetch(burst.bytes, question.correlation_id, workload_.topic_of(partition_),
                       workload_.id_of(partition_), Offset(question.offset), question.max_bytes,
                       std::chrono::milliseconds(wait_millis), question.min_bytes);
    burst.questions.push_back(std::move(question));
  }

  void add_produce(Burst& burst) {
    Question question = new_question(workload_, next_correlation_id_++, partition_);
    question.kind = Question::Kind::produce;
    question.acks = random_.one_in(3) ? wire::AckPolicy::forced : wire::AckPolicy::written;
    question.records = 1;
    workload_.model.set_now(workload_.now());
    question.first = workload_.model.send_batch(partition_, ++workload_.connections, {record_bytes_});
    std::vector<std::byte> payload(static_cast<std::size_t>(record_bytes_));
    Model::fill_payload(question.first, payload);
    const Bytes record(payload);
    wire::encode_produce(burst.bytes, question.correlation_id, workload_.topic_of(partition_),
                         workload_.id_of(partition_), question.acks, std::span(&record, 1));
    burst.questions.push_back(std::move(question));
  }

  // False: it is over, and `problem_` says why.
  bool connect(RawClient& client) {
    const auto connected = client.connect(deadline());
    if (!connected) {
      problem_ = "a client of the quiet check cannot connect: " + connected.error().message;
    }
    return connected.has_value();
  }

  // One `taken` for each question, or it is over.
  void exchange(RawClient& client, Burst& burst, Duration wait = Duration(0), Then then = Then::go_on) {
    burst.sent = workload_.now();
    // Sending goes on beside receiving: a broker whose answers nobody takes reads no further.
    env::WaitGroup sending(environment_.scheduler);
    sending.add();
    workload_.world.spawn("quiet sender", [&] {
      if (const auto sent = client.send(burst.bytes, deadline()); !sent) {
        problem_ = "a client of the quiet check cannot send: " + sent.error().message;
      } else if (then == Then::finish) {
        client.shutdown_send();
      }
      sending.done();
    });
    sleep(random_.one_in(2) ? 0 : kReadDelayMicrosMax);
    for (Question& question : burst.questions) {
      question.in_turn = workload_.now();
      const auto frame = client.receive_frame(Deadline(workload_.now() + wait + kGivesUp));
      if (!frame) {
        constexpr std::array kNames{"PRODUCE", "FETCH", "METADATA"};
        workload_.model.violate(fmt::format("partition {}: nothing else happens, and a {} gets no answer: {}",
                                            partition_, kNames[static_cast<std::size_t>(question.kind)],
                                            frame.error().message));
        client.abort();
        break;
      }
      const Answer answer = check_answer(workload_, question, *frame);
      burst.taken.push_back({answer, question.in_turn, workload_.now()});
    }
    static_cast<void>(sending.wait(Deadline::never()));
  }

  Workload& workload_;
  env::Environment& environment_;
  env::Random random_;
  RawClient reader_;
  RawClient writer_;
  std::int32_t next_correlation_id_ = 1;
  std::string problem_;
  // Of the round.
  std::size_t partition_ = 0;
  std::int64_t record_bytes_ = 0;
};

}  // namespace

void hold_over_a_roll(Workload& workload, std::uint64_t seed) {
  if (workload.plan.retention_millis != 0) {
    QuietCheck(workload, seed).hold_over_a_roll();
  }
}

std::string check_quiet(Workload& workload, std::uint64_t seed) {
  return QuietCheck(workload, seed).run();
}

}  // namespace booblik::sim
