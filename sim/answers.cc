#include "sim/answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"
#include "sim/log_start.h"

namespace booblik::sim {
namespace {

// Rounding of timers, and the way of the answer.
constexpr Duration kTimerSlack = std::chrono::milliseconds(1);
// More fetches than a run's clients can hold at a time.
constexpr std::int64_t kHeldEnough = 16;

bool is_old(const Workload& workload, const Question& question) {
  return question.epoch != workload.model.epoch();
}

bool is_timed(const Workload& workload, const Question& question) {
  return workload.is_calm_since(question.epoch);
}

// A frame that stops in its middle keeps its memory until it is cut. A FETCH takes none, but it may come
// behind a PRODUCE that waits for some.
bool offenders_hold_memory(const Workload& workload) {
  return !workload.has_memory() && workload.plan.offence_odds != 0;
}

// When it was this request's turn, and somebody was there to answer it.
Instant turn_of(const Workload& workload, const Question& question) {
  return std::max(question.in_turn, workload.serving_since);
}

// A request that nothing disturbs is answered so soon after its turn, or after what it waited for.
Duration time_for(const Workload& workload, const Question& question) {
  return workload.time_for(question.burst_bytes + question.max_bytes);
}

std::int64_t millis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

Answer check_produce(Workload& workload, const Question& question, const wire::ResponseHeader& header,
                     Bytes frame) {
  Model& model = workload.model;
  if (header.error != wire::WireError::none) {
    model.violate(fmt::format("PRODUCE was refused with error {}", static_cast<int>(header.error)));
    return {};
  }
  const auto answer = wire::decode_produce_response(frame);
  if (!answer) {
    model.violate(fmt::format("PRODUCE answer: {}", answer.error().reason));
    return {};
  }
  const bool forced = question.acks == wire::AckPolicy::forced;
  const std::int64_t base = answer->base_offset.value();
  if (is_old(workload, question)) {
    model.acked_by_the_dead(question.first, question.records, base, forced);
    return {};
  }
  if (base < question.ends[question.partition]) {
    model.violate(fmt::format("partition {}: PRODUCE got base offset {}, below the end {} known before",
                              question.partition, base, question.ends[question.partition]));
  }
  if (is_timed(workload, question) && workload.has_memory()) {
    model.count("ack in time");
    const Duration took = workload.now() - turn_of(workload, question);
    if (took > time_for(workload, question)) {
      model.violate(fmt::format("PRODUCE was acked {} ms after its turn had come", millis(took)));
    }
  }
  model.acked(question.first, question.records, base, answer->log_end_offset.value(), forced);
  Answer result;
  result.end = base + question.records;
  return result;
}

// Whole records from the question's offset on.
void check_records(Workload& workload, const Question& question, Bytes payload, Answer& answer) {
  Model& model = workload.model;
  std::int64_t& offset = answer.next_offset;
  const auto damaged = [&] {
    model.damaged(question.partition, offset);
    answer.met_damage = true;
  };
  ByteReader reader(payload);
  while (reader.remaining() > 0) {
    if (offset >= answer.end) {
      model.violate(fmt::format("partition {}: FETCH served bytes behind its high watermark {}",
                                question.partition, answer.end));
      break;
    }
    ByteReader ahead = reader;
    const auto size = ahead.read<std::int32_t>();
    const auto checksum = ahead.read<std::uint32_t>();
    if (checksum && *size <= 0) {
      damaged();
      break;
    }
    const auto record = checksum ? ahead.read_bytes(static_cast<std::size_t>(*size)) : std::nullopt;
    if (!record) {
      if (static_cast<std::int64_t>(payload.size()) < question.max_bytes) {
        damaged();  // only maxBytes may cut a record
      }
      model.count("cut record");
      break;
    }
    if (crc32c(*record) != *checksum) {
      damaged();
      break;
    }
    model.fetched(question.partition, offset, *record);
    reader = ahead;
    ++offset;
  }
}

// No wake-up is lost, and none comes without data.
void check_wait(Workload& workload, const Question& question, bool empty) {
  Model& model = workload.model;
  const Duration waited = workload.now() - question.sent;
  const Duration wait = std::chrono::milliseconds(question.wait_millis);
  if (empty && question.wait_millis > 0 && waited + kTimerSlack < wait && !workload.stop_requested &&
      workload.plan.held_max >= kHeldEnough) {
    model.count("early empty");
    if (is_timed(workload, question) && workload.plan.pipelined_max >= kHeldEnough) {
      model.violate(fmt::format("a held FETCH came back empty after {} ms of {}", millis(waited),
                                question.wait_millis));
    }
  }
  if (!is_timed(workload, question) || offenders_hold_memory(workload)) {
    return;
  }
  const Duration allowed = time_for(workload, question);
  model.count("held in time");
  if (const Duration held = workload.now() - turn_of(workload, question); held > wait + allowed) {
    model.violate(fmt::format("a FETCH that may wait {} ms was held for {} ms, {} ms longer than it may take",
                              question.wait_millis, millis(held), millis(held - wait - allowed)));
  }
  if (question.min_bytes > 1) {
    return;
  }
  if (const auto since = model.known_since(question.partition, question.offset)) {
    model.count("wake-up");
    const Duration late = workload.now() - std::max(*since, turn_of(workload, question));
    if (late > allowed) {
      model.violate(fmt::format("partition {}: FETCH at {} was answered {} ms after the data was there",
                                question.partition, question.offset, millis(late)));
    }
  }
}

// A segment that is sealed is served at once, however many bytes were wished for.
void check_sealed(Workload& workload, const Question& question, std::size_t payload_bytes,
                  const Answer& answer) {
  const bool too_few = payload_bytes > 0 && static_cast<std::int64_t>(payload_bytes) < question.min_bytes;
  const Duration allowed = time_for(workload, question);
  const Instant turn = turn_of(workload, question);
  if (!too_few || !is_timed(workload, question) || offenders_hold_memory(workload)) {
    return;
  }
  const auto check = [&](std::optional<Instant> since) {
    workload.model.count("end of a segment");
    if (since && workload.now() - std::max(*since, turn) > allowed) {
      workload.model.violate(fmt::format("partition {}: FETCH at {} waited though its segment was sealed",
                                         question.partition, question.offset));
    }
  };
  if (answer.next_offset >= answer.end) {
    const auto known = workload.model.known_since(question.partition, answer.next_offset - 1);
    if (workload.now() - turn > allowed && known) {
      const auto sealed = sealed_since(workload, question.partition, question.offset, answer.end);
      check(sealed ? std::optional(std::max(*sealed, *known)) : std::nullopt);
    }
    return;
  }
  // There is more, so the payload was cut where its segment ends.
  if (const auto since = workload.model.known_since(question.partition, answer.next_offset)) {
    check(since);
  }
}

Answer check_fetch(Workload& workload, const Question& question, const wire::ResponseHeader& header,
                   Bytes frame) {
  Model& model = workload.model;
  Answer result;
  result.next_offset = question.offset;
  if (header.error == wire::WireError::offset_out_of_range) {
    result.out_of_range = true;
    if (question.offset <= question.ends[question.partition]) {
      check_out_of_range(workload, question.partition, question.offset);
      if (!workload.retention_was_on) {
        model.violate(fmt::format("partition {}: offset {} is out of range though the end was {}",
                                  question.partition, question.offset, question.ends[question.partition]));
      }
    }
    return result;
  }
  if (header.error != wire::WireError::none) {
    model.violate(fmt::format("FETCH was refused with error {}", static_cast<int>(header.error)));
    return result;
  }
  const auto answer = wire::decode_fetch_response(frame);
  if (!answer) {
    model.violate(fmt::format("FETCH answer: {}", answer.error().reason));
    return result;
  }
  result.end = answer->high_watermark.value();
  result.payload_bytes = answer->payload.size();
  model.told_end(question.partition, result.end, question.ends[question.partition], "FETCH");
  if (answer->payload.empty() && question.offset != result.end) {
    model.violate(fmt::format("partition {}: FETCH at {} is empty though the log ends at {}",
                              question.partition, question.offset, result.end));
  }
  if (static_cast<std::int64_t>(answer->payload.size()) > question.max_bytes) {
    model.violate("FETCH served more than maxBytes");
  }
  check_wait(workload, question, answer->payload.empty());
  check_records(workload, question, answer->payload, result);
  check_sealed(workload, question, answer->payload.size(), result);
  return result;
}

void check_refusal(Workload& workload, const Question& question, const wire::ResponseHeader& header) {
  Model& model = workload.model;
  model.count("refusal");
  if (header.error != question.refusal) {
    model.violate(fmt::format("a request that has to be refused with error {} was answered with {}",
                              static_cast<int>(question.refusal), static_cast<int>(header.error)));
  }
  if (is_timed(workload, question) && workload.has_memory() &&
      workload.now() - turn_of(workload, question) > time_for(workload, question)) {
    model.violate("a request was refused, but not at once");
  }
}

// Retention by age alone takes nothing that was sent to this life of the broker less than that age ago.
void check_retention(Workload& workload, std::size_t partition, std::int64_t start) {
  const Plan& plan = workload.plan;
  if (plan.retention_millis != 0 && plan.retention_bytes == 0) {
    workload.model.check_taken(partition, start, std::chrono::milliseconds(plan.retention_millis));
  }
}

void check_metadata(Workload& workload, const Question& question, Bytes frame) {
  Model& model = workload.model;
  const auto topics = wire::decode_metadata_response(frame);
  if (!topics) {
    return model.violate(fmt::format("METADATA answer: {}", topics.error().reason));
  }
  std::size_t partition = 0;
  for (const wire::TopicMetadata& topic : *topics) {
    for (const wire::PartitionMetadata& each : topic.partitions) {
      if (partition >= model.partitions() || topic.name != workload.topic_of(partition) ||
          each.partition != workload.id_of(partition)) {
        return model.violate(fmt::format("METADATA lists {}-{}", topic.name, each.partition.value()));
      }
      model.told_end(partition, each.high_watermark.value(), question.ends[partition], "METADATA");
      if (each.log_start.value() < question.starts[partition]) {
        model.violate(
            fmt::format("partition {}: METADATA says that the log starts at {}, but {} was known before",
                        partition, each.log_start.value(), question.starts[partition]));
      }
      check_retention(workload, partition, each.log_start.value());
      check_start(workload, partition, each.log_start.value());
      model.told_start(partition, each.log_start.value());
      ++partition;
    }
  }
  if (partition != model.partitions()) {
    model.violate(fmt::format("METADATA lists {} of {} partitions", partition, model.partitions()));
  }
}

}  // namespace

Question new_question(const Workload& workload, std::int32_t correlation_id, std::size_t partition) {
  Question question;
  question.correlation_id = correlation_id;
  question.partition = partition;
  question.epoch = workload.model.epoch();
  question.sent = question.in_turn = workload.now();
  for (std::size_t each = 0; each < workload.model.partitions(); ++each) {
    question.ends.push_back(workload.model.known_end(each));
    question.starts.push_back(workload.model.known_start(each));
  }
  return question;
}

Answer check_answer(Workload& workload, const Question& question, Bytes frame) {
  Model& model = workload.model;
  workload.watch_cache();
  model.set_now(workload.now());
  const auto header = wire::decode_response_header(frame);
  if (!header) {
    model.violate(fmt::format("answer: {}", header.error().reason));
    return {};
  }
  if (header->correlation_id != question.correlation_id) {
    model.violate(fmt::format("the answer to request {} came where that to {} was due",
                              header->correlation_id, question.correlation_id));
    return {};
  }
  if (question.refusal != wire::WireError::none) {
    check_refusal(workload, question, *header);
    return {};
  }
  switch (question.kind) {
    case Question::Kind::produce:
      return check_produce(workload, question, *header, frame);
    case Question::Kind::fetch:
      return is_old(workload, question) ? Answer{} : check_fetch(workload, question, *header, frame);
    case Question::Kind::metadata:
      break;
  }
  if (header->error != wire::WireError::none) {
    model.violate(fmt::format("METADATA was refused with error {}", static_cast<int>(header->error)));
  } else if (!is_old(workload, question)) {
    check_metadata(workload, question, frame);
  }
  return {};
}

}  // namespace booblik::sim
