#include "sim/short_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "sim/answers.h"
#include "sim/final_check.h"
#include "sim/raw_client.h"
#include "sim/supervisor.h"
#include "wire/request_encoder.h"

namespace booblik::sim {
namespace {

constexpr std::uint64_t kTurnsMax = 200'000;
constexpr Duration kPatience = std::chrono::seconds(20);
constexpr int kStartsMax = 4;  // each scripted fault spoils one at most
constexpr std::int64_t kPayloadBytes = 40;

Plan short_plan() {
  Plan plan;
  plan.segment_bytes = 256;  // five records
  plan.index_bytes = 64;
  plan.flush_millis = 50;
  plan.retention_bytes = 600;
  plan.open_files_max = 2;
  plan.life_millis = 1;  // things may be late
  plan.hang_odds = 1;    // the script hangs, not the dice: for the oracles of time alone
  plan.policy = static_cast<std::int64_t>(Policy::fifo);
  return plan;
}

DiskOptions disk_of(const Plan& plan, const ShortRunOptions& options) {
  DiskOptions disk = plan.disk();
  disk.script = options.script;
  disk.power_loss = options.power_loss;
  disk.evict_odds = options.evict ? 1 : 0;
  disk.hang_odds = 0;
  disk.hang = std::chrono::seconds(3);
  return disk;
}

class ShortRun {
 public:
  ShortRun(env::StackPool& stacks, const ShortRunOptions& options)
      : plan_(short_plan()),
        world_(stacks, {.seed = 1, .scheduler = plan_.scheduler(), .network = plan_.network()}),
        machine_(world_.add_machine("machine", disk_of(plan_, options), plan_.clock())),
        model_(1),
        workload_{.world = world_, .machine = machine_, .model = model_, .plan = plan_},
        supervisor_(workload_, plan_, machine_, 1),
        client_(world_.outside_environment(), workload_.port) {
    machine_.disk.record_into(&result_.operations);
  }

  ShortRunResult run() {
    world_.spawn("short run", [this] {
      main();
      world_.scheduler().stop();
    });
    const auto stop = world_.run(Instant(std::chrono::hours(1)), kTurnsMax);
    if (stop != SimScheduler::Stop::stopped) {
      problem("the run does not come to an end");
    }
    if (model_.violation()) {
      result_.problem = *model_.violation();
    }
    auto checks = model_.checks();
    result_.records_checked = checks["final record"];
    result_.fingerprint = world_.fingerprint().value();
    world_.shut_down();
    return std::move(result_);
  }

 private:
  void main() {
    for (int round = 0; round < 3; ++round) {
      produce(wire::AckPolicy::written, 2);
      produce(wire::AckPolicy::none, 1);
      produce(wire::AckPolicy::forced, 7);
      fetch(model_.known_start(0));
    }
    sleep(std::chrono::seconds(6));  // a checkpoint, and retention
    produce(wire::AckPolicy::written, 1);
    fetch(model_.known_start(0));
    restart();
    produce(wire::AckPolicy::forced, 2);
    produce(wire::AckPolicy::written, 6);
    fetch(model_.known_start(0));
    sleep(std::chrono::seconds(2));
    restart();
    if (ensure_running()) {
      machine_.disk.record_into(nullptr);
      client_.close();
      if (std::string trouble = check_everything(workload_); !trouble.empty()) {
        problem(trouble);
      }
    }
    supervisor_.end_life(Supervisor::How::stop);
  }

  void problem(std::string text) {
    if (!result_.problem) {
      result_.problem = std::move(text);
    }
  }

  void sleep(Duration duration) { world_.scheduler().sleep(duration, "the next step"); }

  // A broker that runs and has recovered; a scripted fault may spoil a few starts.
  bool ensure_running() {
    for (int start = 0; start < kStartsMax && !model_.violation(); ++start) {
      if (supervisor_.running()) {
        return true;
      }
      connected_ = false;
      supervisor_.note_own_end();
      const bool started = supervisor_.start_and_wait(kPatience);
      result_.started_at.push_back(machine_.disk.operations());
      if (started) {
        return true;
      }
      supervisor_.end_life(Supervisor::How::kill);
    }
    problem("the broker does not start: " + supervisor_.last_error());
    return false;
  }

  void restart() {
    supervisor_.end_life(Supervisor::How::stop);
    connected_ = false;
    static_cast<void>(ensure_running());
  }

  bool ensure_connected() {
    if (result_.problem || !ensure_running()) {
      return false;
    }
    if (!connected_) {
      client_.close();
      connected_ = client_.connect(deadline()).has_value();
      ++workload_.connections;
    }
    return connected_;
  }

  [[nodiscard]] Deadline deadline() const { return Deadline(world_.now() + kPatience); }

  Question ask(Question::Kind kind) {
    Question question;
    question.kind = kind;
    question.correlation_id = next_correlation_id_++;
    question.epoch = model_.epoch();
    question.ends = {model_.known_end(0)};
    question.sent = question.in_turn = world_.now();
    return question;
  }

  void exchange(const Question& question, Bytes bytes) {
    connected_ = client_.send(bytes, deadline()).has_value();
    if (!connected_ || !question.is_answered()) {
      return;
    }
    const auto frame = client_.receive_frame(deadline());
    connected_ = frame.has_value();
    if (frame) {
      answer_ = check_answer(workload_, question, *frame);
      result_.records_acked +=
          question.kind == Question::Kind::produce ? static_cast<std::uint64_t>(question.records) : 0;
    }
  }

  void produce(wire::AckPolicy acks, std::int64_t records) {
    if (!ensure_connected()) {
      return;
    }
    Question question = ask(Question::Kind::produce);
    question.acks = acks;
    question.records = records;
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(records), kPayloadBytes);
    question.first = model_.send_batch(0, workload_.connections, sizes);
    std::vector<std::vector<std::byte>> payloads(sizes.size(), std::vector<std::byte>(kPayloadBytes));
    for (std::size_t index = 0; index < payloads.size(); ++index) {
      Model::fill_payload(question.first + index, payloads[index]);
    }
    const std::vector<Bytes> views(payloads.begin(), payloads.end());
    std::vector<std::byte> bytes;
    wire::encode_produce(bytes, question.correlation_id, workload_.topic_of(0), workload_.id_of(0), acks,
                         views);
    exchange(question, bytes);
  }

  // From `offset` to the end, unless something fails on the way.
  void fetch(std::int64_t offset) {
    while (ensure_connected()) {
      Question question = ask(Question::Kind::fetch);
      question.offset = offset;
      question.max_bytes = 300;
      std::vector<std::byte> bytes;
      wire::encode_fetch(bytes, question.correlation_id, workload_.topic_of(0), workload_.id_of(0),
                         Offset(offset), question.max_bytes, std::chrono::milliseconds(0), 0);
      exchange(question, bytes);
      if (!connected_ || answer_.out_of_range || answer_.next_offset == offset) {
        return;
      }
      offset = answer_.next_offset;
    }
  }

  Plan plan_;
  World world_;
  Machine& machine_;
  Model model_;
  Workload workload_;
  Supervisor supervisor_;
  RawClient client_;
  bool connected_ = false;
  std::int32_t next_correlation_id_ = 1;
  Answer answer_;
  ShortRunResult result_;
};

}  // namespace

ShortRunResult run_short(env::StackPool& stacks, const ShortRunOptions& options) {
  return ShortRun(stacks, options).run();
}

std::vector<ScriptedFault> failures_of(DiskOperation operation, std::uint64_t number) {
  using Kind = ScriptedFault::Kind;
  std::vector<ScriptedFault> faults{{.operation = number, .kind = Kind::hang},
                                    {.operation = number, .kind = Kind::error}};
  switch (operation) {
    case DiskOperation::sync:
    case DiskOperation::sync_directory:
      faults.push_back({.operation = number, .kind = Kind::error, .sync_failure = SyncFailure::stays_dirty});
      faults.push_back(
          {.operation = number, .kind = Kind::error, .sync_failure = SyncFailure::durable_anyway});
      break;
    case DiskOperation::open:
      faults.push_back({.operation = number, .kind = Kind::too_many_files});
      [[fallthrough]];
    case DiskOperation::write:
    case DiskOperation::create_directory:
      faults.push_back({.operation = number, .kind = Kind::no_space});
      break;
    default:
      break;
  }
  return faults;
}

}  // namespace booblik::sim
