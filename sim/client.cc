#include "sim/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/sync.h"
#include "sim/refused_request.h"
#include "wire/request_encoder.h"

namespace booblik::sim {
namespace {

constexpr std::int64_t kConnectMillis = 5'000;
constexpr std::int64_t kRetryMillis = 200;
constexpr Odds kRefusedOdds = 30;

}  // namespace

Client::Client(Workload& workload, Role role, std::uint64_t number)
    : workload_(workload),
      environment_(workload.world.outside_environment()),
      role_(role),
      random_(random_stream(number, "client")),
      breaks_rules_(random_stream(number, "client breaks rules")),
      offends_(random_stream(number, "client offends")),
      connection_(environment_, workload.port),
      positions_(workload.model.partitions()) {}

void Client::pause(std::int64_t mean_millis) {
  const std::int64_t nanoseconds = 2 * mean_millis * 1'000'000;
  workload_.world.scheduler().sleep(Duration(between(random_, 0, nanoseconds)), "thinking");
}

void Client::run() {
  while (!workload_.ended()) {
    const Deadline deadline(workload_.now() + std::chrono::milliseconds(kConnectMillis));
    const std::uint64_t epoch = workload_.model.epoch();
    if (connection_.connect(deadline)) {
      // Whatever life the connection really reached, a change since before it makes answers old news at
      // worst.
      epoch_ = epoch;
      connection_number_ = ++workload_.connections;
      next_correlation_id_ = 1;
      use_connection();
      connection_.close();
    }
    pause(kRetryMillis);
  }
}

void Client::use_connection() {
  while (!workload_.ended() && burst()) {
    pause(workload_.plan.think_millis);
  }
}

void Client::add_produce(Question& question, std::vector<std::byte>& bytes) {
  const Plan& plan = workload_.plan;
  question.kind = Question::Kind::produce;
  question.acks = workload_.acks(random_.below(3));
  question.records = between(random_, 1, plan.batch_max);
  std::vector<std::int64_t> sizes;
  for (std::int64_t index = 0; index < question.records; ++index) {
    sizes.push_back(between(random_, plan.payload_bytes_min(), plan.payload_bytes_max()));
  }
  workload_.model.set_now(workload_.now());
  question.first = workload_.model.send_batch(question.partition, connection_number_, sizes);
  std::vector<std::vector<std::byte>> payloads;
  for (std::size_t index = 0; index < sizes.size(); ++index) {
    payloads.emplace_back(static_cast<std::size_t>(sizes[index]));
    Model::fill_payload(question.first + index, payloads.back());
  }
  const std::vector<Bytes> views(payloads.begin(), payloads.end());
  wire::encode_produce(bytes, question.correlation_id, workload_.topic_of(question.partition),
                       workload_.id_of(question.partition), question.acks, views);
}

void Client::add_fetch(Question& question, std::vector<std::byte>& bytes) {
  const Plan& plan = workload_.plan;
  question.kind = Question::Kind::fetch;
  const std::int64_t start = workload_.model.known_start(question.partition);
  const std::int64_t end = workload_.model.known_end(question.partition);
  const bool follows = random_.below(3) != 0;
  std::int64_t& position = positions_[question.partition];
  position = std::clamp(position, start, end);
  question.offset = follows ? position : between(random_, start, end);
  question.max_bytes =
      static_cast<std::int32_t>(random_.one_in(4) ? between(random_, 1, 64) : between(random_, 1, 16 * 1024));
  if (random_.one_in(2)) {
    question.wait_millis = between(random_, 0, plan.wait_max_millis);
    question.min_bytes = static_cast<std::int32_t>(
        random_.one_in(2) ? 0 : between(random_, 0, std::min(question.max_bytes, 500)));
  }
  wire::encode_fetch(bytes, question.correlation_id, workload_.topic_of(question.partition),
                     workload_.id_of(question.partition), Offset(question.offset), question.max_bytes,
                     std::chrono::milliseconds(question.wait_millis), question.min_bytes);
}

void Client::add_question(std::vector<Question>& questions, std::vector<std::byte>& bytes) {
  Question question;
  question.correlation_id = next_correlation_id_++;
  question.partition = random_.below(workload_.model.partitions());
  question.epoch = epoch_;
  const std::uint64_t kind = random_.below(20);
  const bool unusual = kind == 0;
  if (happens(breaks_rules_, kRefusedOdds)) {
    add_refused_request(workload_, breaks_rules_, connection_number_, question, bytes);
  } else if (role_ == Role::poller || kind == 1) {
    question.kind = Question::Kind::metadata;
    wire::encode_metadata(bytes, question.correlation_id, {});
  } else if ((role_ == Role::producer) != unusual) {
    add_produce(question, bytes);
  } else {
    add_fetch(question, bytes);
  }
  for (std::size_t partition = 0; partition < workload_.model.partitions(); ++partition) {
    question.ends.push_back(workload_.model.known_end(partition));
    question.starts.push_back(workload_.model.known_start(partition));
  }
  questions.push_back(std::move(question));
}

bool Client::burst() {
  if (epoch_ != workload_.model.epoch()) {
    return false;  // the broker of this connection is dead
  }
  std::vector<Question> questions;
  std::vector<std::byte> bytes;
  const std::int64_t depth = between(random_, 1, workload_.plan.depth_max);
  for (std::int64_t index = 0; index < depth; ++index) {
    add_question(questions, bytes);
  }
  const Deadline deadline(
      workload_.now() +
      std::chrono::milliseconds(workload_.plan.patience_millis + depth * workload_.plan.wait_max_millis));
  const bool misbehaves = happens(random_, static_cast<Odds>(workload_.plan.misbehaviour_odds));
  const std::uint64_t how = random_.below(3);
  const Offence offence = draw_offence(workload_, offends_);
  add_offence(offence, workload_, offends_, bytes);
  const Instant sent = workload_.now();
  for (Question& question : questions) {
    question.sent = sent;
    question.burst_bytes = static_cast<std::int64_t>(bytes.size());
  }
  // Sending and receiving go on side by side: a broker whose answers nobody takes reads no further.
  env::WaitGroup sending(environment_.scheduler);
  sending.add();
  workload_.world.spawn("client's sender", [&] {
    const bool went = connection_.send(bytes, deadline).has_value();
    if (went && misbehaves && how == 1) {
      workload_.world.probes().hit("sim.client.half_closed");
      connection_.shutdown_send();
    }
    sending.done();
  });
  if (misbehaves && how == 2) {
    workload_.world.probes().hit("sim.client.stalled");
    pause(2'000);
  }
  if (offence == Offence::takes_nothing) {
    take_nothing(workload_, offends_);
  }
  const bool takes_late = misbehaves || offence == Offence::takes_nothing;
  const bool good = !(misbehaves && how == 0) && take_answers(questions, deadline, takes_late);
  if (good && !misbehaves && (offence == Offence::bad_length || offence == Offence::slow_frame)) {
    check_cut(offence, workload_, connection_, questions.back());
  } else if (!good) {
    workload_.world.probes().hit("sim.client.aborted");
    connection_.abort();
  }
  static_cast<void>(sending.wait(Deadline::never()));
  return good && !(misbehaves && how == 1) && offence == Offence::none;
}

// Requests of one connection take effect in order, so those behind this one see at least this end.
void Client::raise_ends(std::vector<Question>& questions, const Question& after, std::int64_t end) {
  const bool says_nothing = after.refusal != wire::WireError::none || after.kind != Question::Kind::produce;
  for (auto question = questions.rbegin(); !says_nothing && &*question != &after; ++question) {
    std::int64_t& known = question->ends[after.partition];
    known = std::max(known, end);
  }
}

// The broker closes a connection that asks for what it has lost, and looks the same when it ends for another
// reason.
void Client::step_over_damage(const Question& question, const Error& error) {
  const bool may_be_damage = question.kind == Question::Kind::fetch && error.code == ErrorCode::closed;
  if (may_be_damage && question.epoch == workload_.model.epoch() && random_.one_in(2)) {
    positions_[question.partition] = question.offset + 1;
  }
}

bool Client::take_answers(std::vector<Question>& questions, Deadline deadline, bool may_be_cut) {
  Instant in_turn = workload_.now();
  for (Question& question : questions) {
    if (!question.is_answered()) {
      raise_ends(questions, question, question.ends[question.partition] + question.records);
      continue;
    }
    question.in_turn = in_turn;
    const auto frame = connection_.receive_frame(deadline);
    if (!frame) {
      if (!may_be_cut && workload_.is_calm_since(epoch_) && (workload_.has_memory() || workload_.is_fast()) &&
          workload_.cross_in_time(question.burst_bytes + question.max_bytes)) {
        workload_.model.violate(fmt::format("an undisturbed connection failed: {}", frame.error().message));
      }
      step_over_damage(question, frame.error());
      return false;
    }
    in_turn = workload_.now();
    const Answer answer = check_answer(workload_, question, *frame);
    if (workload_.model.violation()) {
      workload_.world.scheduler().stop();
      return false;
    }
    raise_ends(questions, question, answer.end);
    if (question.kind == Question::Kind::fetch && question.refusal == wire::WireError::none &&
        question.epoch == workload_.model.epoch()) {
      positions_[question.partition] = answer.next_offset + (answer.met_damage ? 1 : 0);
    }
  }
  return true;
}

}  // namespace booblik::sim
